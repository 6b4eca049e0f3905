"""A server with an empty journal for workers."""

from tests.long.dispatch.conftest import server, url

__all__ = ["server", "url"]
