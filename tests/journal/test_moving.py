"""Moving runs to another journal keeps its contract with a journal in SQLite."""

import pytest

from tests.contracts.moving import MovingContract


class TestSqlite(MovingContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:{tmp_path / 'home' / 'journal.sqlite3'}"
