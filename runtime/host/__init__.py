"""Hosting many runs in one process: the host and its wake-up sockets."""
