"""`replan home verify`: every edit of what follows from the records is reported, in a line of its own."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from runtime.journal.port import VERSION
from tests.cli.samples import ANALYSIS, ASKING, PLAN

EDITS = {
    "a status": ("UPDATE runs SET status = 'finished' WHERE id = 1", "its status: stored as 'finished'"),
    "a detail": ("UPDATE runs SET detail = 'q7' WHERE id = 1", "its detail: stored as 'q7', but its records give 'q1'"),
    "the questions": ("DELETE FROM asked", "its open questions: stored as [], but its records give ["),
    "a question": (
        "UPDATE asked SET questions = CAST(replace(questions, 'version', 'release') AS BLOB)",
        "(text): stored as \"The model asks about the step 'g_analysis': Which release",
    ),
    "questions that are none": (
        "UPDATE asked SET questions = x'5b315d'",
        "the questions of its status row cannot be read",
    ),
    "a title": ("UPDATE runs SET title = 'Another' WHERE id = 1", "its title: stored as 'Another'"),
    "the wait": ("UPDATE runs SET waiting_since = 5.0 WHERE id = 1", "its start of waiting: stored as 5.0"),
    "a time to wake": ("UPDATE runs SET next_wake = 7.5 WHERE id = 1", "its wake-up time: stored as 7.5"),
    "a change": ("UPDATE runs SET updated = updated - 1 WHERE id = 1", "its time of the last change: stored as"),
    "an earlier epoch": ("UPDATE runs SET epoch = 0 WHERE id = 1", "its row says that it was claimed 0 times"),
    "what is committed": ("UPDATE runs SET calls = 0 WHERE id = 1", "do not follow from its records"),
    "the booked day": ("UPDATE runs SET day = day - 1 WHERE id = 1", "do not follow from its records"),
    "the agenda": ("INSERT INTO agenda VALUES (1, 5.0)", "its due time in the agenda: stored as 5.0"),
    "an unread row that was added": (
        "INSERT INTO unread VALUES (2)",
        "it has no unread message, but its row or the agenda says otherwise",
    ),
    "an unread row that was removed": (
        "DELETE FROM unread",
        "it has an unread message, but its row or the agenda says otherwise",
    ),
    "the spending": (
        "UPDATE spending SET calls = 0",
        "stored as 0 calls and 0 micro-dollars, but the records give 3 calls",
    ),
    "the spending of a tenant": (
        "INSERT INTO spending VALUES ('research', 5, 1, 0)",
        "the total of tenant 'research' of 1970-01-06 (UTC): stored as 1 call and",
    ),
    "a day that never was": (
        "INSERT INTO spending VALUES ('', 5, 1, 0)",
        "the total of 1970-01-06 (UTC): stored as 1 call and",
    ),
    "the last message": ("DELETE FROM inbox; DELETE FROM unread", "the posted message 1 is missing"),
    "a message": ("UPDATE inbox SET body = replace(body, '3.12', '3.13')", "the message does not match its hash"),
    "a record": ("UPDATE events SET at = at + 1 WHERE run = 1", "the record does not match its hash"),
    "the last record": (
        "DELETE FROM events WHERE run = 2 AND seq = (SELECT max(seq) FROM events WHERE run = 2)",
        "does not match the status row",
    ),
    "a text": ("UPDATE texts SET text = x'20' WHERE hash = (SELECT min(hash) FROM texts)", "does not match its hash"),
    "a run": (
        "DELETE FROM events WHERE run = 2; DELETE FROM agenda WHERE run = 2; DELETE FROM runs WHERE id = 2",
        "the run was in the journal, and all of its records are missing",
    ),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A home with a run that waits and has an unread answer, and one that has finished."""
    return tmp_path_factory.mktemp("written") / "home"


@pytest.fixture
def stored(home, written, replan, problem, scripted):
    if not written.exists():
        asks = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
        waiting = json.loads(replan("run", problem, "-m", asks, "-w", "option_a", "--json").stdout)["run_id"]
        assert replan("answer", f"{waiting}/q1", "Version 3.12").exit_code == 0
        plans = scripted({"g_analysis": [ANALYSIS], "g_plan": [PLAN]})
        assert replan("run", problem, "-m", plans, "-w", "option_a").exit_code == 0
        shutil.copytree(home, written)
    else:
        shutil.copytree(written, home)
    return [row["run_id"] for row in reversed(json.loads(replan("runs", "--json").stdout)["runs"])]


def edit(home, statements):
    """Change the file as an editor of databases does, without the journal's rules."""
    with closing(sqlite3.connect(home / "journal.sqlite3")) as file, file:
        file.executescript(statements)


def test_what_nobody_has_edited_agrees(replan, stored):
    done = replan("home", "verify")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("ok     2 runs, ")
    assert done.stdout.endswith(" records, 1 message: everything agrees with the records\n")


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_is_reported(home, replan, stored, name):
    statements, expected = EDITS[name]
    edit(home, statements)
    done = replan("home", "verify")
    assert done.exit_code == 9
    lines = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
    joined = " ".join(done.stdout.split())
    assert expected in joined, done.stdout
    assert all(line.startswith(("WRONG  run ", "WRONG  journal: ")) for line in lines)
    assert "restore a copy of the home" in joined


def test_the_findings_are_also_data(home, replan, stored):
    edit(home, "UPDATE runs SET status = 'finished' WHERE id = 1")
    done = replan("home", "verify", "--json")
    shown = json.loads(done.stdout)
    assert done.exit_code == 9
    assert (shown["ok"], shown["runs"], shown["messages"], shown["not_checked"]) == (False, 2, 1, [])
    assert stored[0] in {finding["run_id"] for finding in shown["findings"]}


def test_nothing_is_changed(home, replan, stored):
    edit(home, "UPDATE runs SET status = 'finished' WHERE id = 1; DELETE FROM unread")
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    replan("home", "verify")
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before


def test_a_run_of_a_kind_that_is_not_installed_is_verified_by_its_hashes(home, replan, stored):
    """Its hash covers the kind, so the edit is noticed; what follows from its records cannot be computed."""
    edit(home, "UPDATE runs SET kind = 'gardening' WHERE id = 1")
    done = replan("home", "verify")
    assert done.exit_code == 9
    assert f"WRONG  run {stored[0]}: record 2: the record does not match its hash\n" in done.stdout


def test_a_missing_home_has_nothing_wrong_and_is_not_made(home, replan):
    done = replan("home", "verify")
    assert (done.exit_code, home.exists()) == (0, False)


def test_a_file_that_is_no_journal_is_one_line(home, replan):
    home.mkdir(mode=0o700)
    (home / "journal.sqlite3").write_bytes(b"not a database" * 1_000)
    done = replan("home", "verify")
    assert done.exit_code == 9
    assert len(done.stderr.splitlines()) == 1


def test_a_journal_of_a_newer_release_is_refused(home, replan, stored):
    edit(home, f"PRAGMA user_version = {VERSION + 1}")
    done = replan("home", "verify")
    assert done.exit_code == 9
    assert "upgrade" in done.stderr


@pytest.mark.parametrize("place", [0, 1])
def test_a_journal_from_which_a_run_was_deleted_agrees(home, replan, stored, place):
    assert replan("home", "delete", stored[place], "--force").exit_code == 0
    done = replan("home", "verify")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("ok     1 run, ")
    assert "not checked: the part of the daily totals that deleted runs have added" in done.stdout
    edit(home, "UPDATE spending SET calls = 0")
    assert replan("home", "verify").exit_code == 9
