"""A server with an empty journal for workers."""

from tests.dispatch.conftest import server, url

__all__ = ["server", "url"]
