"""A journal of another release: every command says so in one line, and changes nothing."""

import json
import sqlite3
from contextlib import closing

import pytest

from runtime.journal.kinds import VERSION
from runtime.journal.sqlite.schema import EARLIER_ID
from tests.cli.samples import ANALYSIS, ASKING, PLAN


@pytest.fixture
def waiting(replan, home, problem, scripted):
    """The id of a run that waits."""
    asks = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    return json.loads(replan("run", problem, "-m", asks, "-w", "option_a", "--json").stdout)["run_id"]


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (f"PRAGMA user_version = {VERSION + 1}", "upgrade replan"),
        (f"PRAGMA application_id = {EARLIER_ID}", "(begin another home or database, or go on with that version)"),
    ],
)
def test_a_journal_of_another_release_is_refused_in_one_line(replan, home, waiting, of, says):
    with closing(sqlite3.connect(home / "journal.sqlite3")) as file, file:
        file.execute(of)
    before = (home / "journal.sqlite3").read_bytes()
    for command in (
        ["show", waiting],
        ["runs"],
        ["log", waiting],
        ["questions"],
        ["resume", waiting],
        ["answer", f"{waiting}/q1", "Version 3.12"],
        ["cancel", waiting],
        ["home", "verify"],
        ["home", "upgrade"],
        ["host"],
    ):
        done = replan(*command)
        assert (done.exit_code, done.exception.__class__) == (9, SystemExit), command
        assert done.stderr.splitlines()[-1].endswith(says), command
        assert "Traceback" not in done.stderr
    done = replan("doctor")
    assert done.exit_code == 1
    assert next(line for line in done.stdout.splitlines() if line.startswith("WRONG")).startswith("WRONG  journal")
    assert (home / "journal.sqlite3").read_bytes() == before


def test_upgrade_and_doctor_say_which_version_a_journal_has(replan, home, waiting):
    done = replan("home", "upgrade", "--json")
    assert json.loads(done.stdout) == {"journal": f"sqlite:{home / 'journal.sqlite3'}", "version": VERSION}
    assert f"version {VERSION}, 1 run, 1 waiting" in replan("doctor").stdout
