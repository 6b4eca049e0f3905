"""The server of databases, which some pages need."""

from packages.server.tests.conftest import database_server

__all__ = ["database_server"]
