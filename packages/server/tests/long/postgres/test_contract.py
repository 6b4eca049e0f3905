"""The journal in Postgres keeps the contract, directly and through PgBouncer in transaction mode."""

from functools import partial

import pytest

from replan_server.postgres.address import parse_address
from replan_server.postgres.journal import open_postgres
from tests.contracts.journal import JournalContract
from tests.contracts.toy_events import CODEC


class TestPostgres(JournalContract):
    """The contract."""


class TestPooled(JournalContract):
    """The contract, through a pooler."""

    @pytest.fixture
    def open_journal(self, server, pooler, url, clock):
        address = parse_address(server.url("journal", port=pooler))
        return partial(open_postgres, address, codecs=CODEC, clock=clock)
