"""Archiving keeps its contract with a journal in SQLite."""

import pytest

from tests.contracts.archive import ArchiveContract


class TestSqlite(ArchiveContract):
    """The contract."""

    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:{tmp_path / 'home' / 'journal.sqlite3'}"
