"""A journal in Postgres whose packages are missing, or whose server cannot be reached."""

import sys

import pytest
from click.testing import CliRunner

from replan.cli.app import app
from runtime.core.errors import UsageProblem
from runtime.open_journal import open_journal
from tests.cli.samples import PROBLEM
from tests.cli.test_bad_input import assert_refused
from tests.contracts.toy_events import CODEC, ManualClock


def test_a_database_without_the_extra_is_refused_in_one_line_that_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageProblem, match=r"extra `postgres` \(pip install '[^']*server\[postgres\]'\)") as caught:
        open_journal("postgresql://user:secret@server/db", CODEC, ManualClock())
    assert "secret" not in str(caught.value)


def test_with_a_journal_in_a_database_the_file_of_the_home_is_not_missed(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    (tmp_path / "problem.md").write_text(PROBLEM, encoding="utf-8")
    assert CliRunner().invoke(app, ["run", str(tmp_path / "problem.md"), "-m", "template:bug"]).exit_code == 0
    (tmp_path / "home" / "journal.sqlite3").unlink()
    monkeypatch.setenv("REPLAN_JOURNAL", "postgresql://replan@127.0.0.1:1/replan")
    assert_refused(CliRunner().invoke(app, ["runs"]), "the database cannot be reached", code=9)
