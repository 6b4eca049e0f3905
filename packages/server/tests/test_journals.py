"""Opening a journal in Postgres without the packages that it needs."""

import sys

import pytest

from runtime.core.errors import UsageProblem
from runtime.open_journal import open_journal
from tests.contracts.toy_events import CODEC, ManualClock


def test_a_database_without_the_extra_is_refused_in_one_line_that_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageProblem, match=r"extra postgres \(pip install '[^']*server\[postgres\]'\)") as caught:
        open_journal("postgresql://user:secret@server/db", CODEC, ManualClock())
    assert "secret" not in str(caught.value)
