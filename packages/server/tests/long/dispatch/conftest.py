"""A server with a database for workers, emptied before each test; its engine's tables are made once."""

import pytest

from packages.server.tests.long.postgres.conftest import TABLES
from replan_server.postgres import schema
from replan_server.postgres.address import parse_address
from replan_server.workers import tables

DATABASE = "workers"


@pytest.fixture(scope="session")
def server(database_server):
    with database_server.new(DATABASE) as connection:
        schema.ensure_tables(connection, "tests")
        tables.make(connection, "tests")
    return database_server


@pytest.fixture
def url(server):
    """The URL of an empty journal, with an empty queue."""
    deletes = [f"DELETE FROM replan.{table}" for table in TABLES]
    server.execute(DATABASE, "; ".join([*deletes, "TRUNCATE replan_jobs.procrastinate_jobs CASCADE"]))
    return server.url(DATABASE)


@pytest.fixture
def address(url):
    return parse_address(url)
