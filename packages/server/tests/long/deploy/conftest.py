"""A server with an empty journal for workers."""

from packages.server.tests.long.dispatch.conftest import server, url

__all__ = ["server", "url"]
