"""A server and a pooler for the session, a database that is empty before each test, and journals opened on it."""

from functools import partial

import pytest

from packages.server.tests.support.postgres import running_pooler
from replan_server.postgres import schema
from replan_server.postgres.address import parse_address
from replan_server.postgres.journal import open_postgres
from tests.contracts.toy_events import CODEC, ManualClock

DATABASE = "journal"
TABLES = (
    "named_texts",
    "records",
    "inbox",
    "asked",
    "positions",
    "cursors",
    "runs",
    "texts",
    "spending",
    "hosts",
    "writers",
)


@pytest.fixture(scope="session")
def server(database_server):
    with database_server.new(DATABASE) as connection:
        schema.ensure_tables(connection, "tests")
    return database_server


@pytest.fixture(scope="session")
def pooler(server):
    with running_pooler(server) as port:
        yield port


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def url(server):
    server.execute(DATABASE, "; ".join(f"DELETE FROM replan.{table}" for table in TABLES))
    return server.url(DATABASE)


@pytest.fixture
def address(url):
    return parse_address(url)


@pytest.fixture
def open_journal(address, clock):
    return partial(open_postgres, address, codecs=CODEC, clock=clock)


@pytest.fixture
def new_database(server):
    server.execute("postgres", "DROP DATABASE IF EXISTS empty", "CREATE DATABASE empty")
    return parse_address(server.url("empty"))
