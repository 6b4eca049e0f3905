"""Hosting many runs in one process: the host, its wake-up sockets and the notify hook."""
