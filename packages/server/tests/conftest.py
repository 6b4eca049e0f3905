"""The Postgres server that all tests of this package share."""

import pytest


@pytest.fixture(scope="session")
def database_server(clean_house):
    """Run one Postgres server for the session. Each suite makes databases of its own on it."""
    from packages.server.tests.support.postgres import running_server

    with running_server() as server:
        yield server
