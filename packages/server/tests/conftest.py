"""What the tests of the servers share: one server of databases."""

import pytest


@pytest.fixture(scope="session")
def database_server(clean_house):
    """The server of databases that all suites use; each has databases of its own on it."""
    from packages.server.tests.support.postgres import running_server

    with running_server() as server:
        yield server
