"""A journal that a newer release uses too: what it needs is said in one line, and the other runs are as before."""

import json
import sqlite3
from contextlib import closing

import pytest
import trio

from runtime.core.clock import SystemClock
from runtime.journal.sqlite.journal import open_sqlite
from runtime.journal.sqlite.schema import VERSION
from runtime.journal.versions import CODEC
from tests.cli.samples import ANALYSIS, ASKING, PLAN
from tests.cli.test_bad_input import assert_refused

NEWER = CODEC + 1


def edit(home, statements):
    """Change the file as a newer release would."""
    with closing(sqlite3.connect(home / "journal.sqlite3")) as file, file:
        file.executescript(statements)


@pytest.fixture
def waiting(replan, home, problem, scripted):
    """The id of a run that waits."""
    asks = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    return json.loads(replan("run", problem, "-m", asks, "-w", "option_a", "--json").stdout)["run_id"]


@pytest.fixture
def runs(replan, home, problem, scripted, waiting):
    """The ids of a run that waits, of one of a newer release that waits too, and of one that has finished."""
    again = [json.loads(replan("run", problem, "-m", "rules", "--json").stdout)["run_id"] for _ in "12"]
    edit(home, f"UPDATE runs SET codec = {NEWER}, status = 'waiting' WHERE id = 2")
    return [waiting, *again]


def test_a_run_of_a_newer_release_is_listed_as_such(replan, runs):
    waiting, newer, finished = runs
    done = replan("runs")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines() if "needs a newer replan" in line] == [newer]
    rows = {row["run_id"]: row for row in json.loads(replan("runs", "--json").stdout)["runs"]}
    assert {run: row.get("needs_newer", False) for run, row in rows.items()} == {
        waiting: False,
        newer: True,
        finished: False,
    }
    done = replan("doctor")
    assert (done.exit_code, f"codec {CODEC}, 3 runs, 2 waiting, 1 need a newer replan" in done.stdout) == (0, True)


def test_the_questions_of_the_other_runs_are_shown_and_answered(replan, runs):
    waiting, newer, _ = runs
    done = replan("questions")
    assert f"{waiting}/q1" in done.stdout
    assert f"{newer}/q1" not in done.stdout
    assert f"{newer}" in done.stderr
    assert "upgrade replan" in done.stderr
    assert replan("answer", f"{waiting}/q1", "Version 3.12").exit_code == 0
    assert replan("resume", waiting).exit_code == 0


@pytest.mark.parametrize(
    "command", [["show"], ["resume"], ["log"], ["export"], ["questions"], ["cancel"], ["tell", "x"]], ids=" ".join
)
def test_a_command_about_a_run_of_a_newer_release_is_one_line(replan, home, runs, command):
    name, *rest = command
    assert_refused(replan(name, runs[1], *rest), runs[1], f"codec {NEWER}", "upgrade replan", code=9)


def test_an_answer_to_a_run_of_a_newer_release_is_refused(replan, runs):
    assert_refused(replan("answer", f"{runs[1]}/q1", "x"), "upgrade replan", code=9)


def test_runs_of_a_newer_release_are_not_pruned(replan, home, runs):
    edit(home, "UPDATE runs SET updated = 0")
    assert json.loads(replan("prune", "--older-than", "1d", "--ended", "--json").stdout)["runs"] == [runs[2]]


def test_what_cannot_be_computed_of_a_newer_run_is_said_by_verify(replan, home, waiting):
    edit(home, f"UPDATE journal SET floor = {NEWER}")

    async def write():
        async with open_sqlite(home / "journal.sqlite3", {}, SystemClock(), known=NEWER) as journal:
            await journal.create("newer", "a run")

    trio.run(write)
    done = replan("journal", "verify")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "not checked: runs that need a newer replan, beyond the hashes of their records: 1\n" in done.stdout
    edit(home, f"UPDATE runs SET codec = {NEWER + 1} WHERE run = 'newer'")
    done = replan("journal", "verify")  # The hashes cover the codec.
    assert (done.exit_code, "WRONG  run newer: " in done.stdout) == (9, True)


def test_below_a_raised_floor_runs_are_only_read(replan, home, problem, waiting):
    edit(home, f"UPDATE journal SET floor = {NEWER}")
    for command in (["show", waiting], ["runs"], ["log", waiting], ["questions"]):
        assert replan(*command).exit_code == 0
    for command in (
        ["run", problem, "-m", "rules"],
        ["resume", waiting],
        ["answer", f"{waiting}/q1", "Version 3.12"],
        ["tell", waiting, "x"],
        ["cancel", waiting],
        ["delete", waiting, "--force"],
        ["journal", "upgrade"],
        ["host"],
    ):
        done = replan(*command)
        last = done.stderr.splitlines()[-1]
        assert (done.exit_code, done.exception.__class__) == (9, SystemExit), command
        assert f"codec {NEWER} of a newer release, and this one knows {CODEC}" in last
        assert last.endswith("upgrade replan")
    assert json.loads(replan("resume", waiting, "--json").stdout)["error"]["kind"] == "FloorRaised"
    done = replan("doctor")
    assert done.exit_code == 1
    assert next(line for line in done.stdout.splitlines() if line.startswith("WRONG")).startswith("WRONG  journal")


def test_upgrade_says_what_the_journal_is_on(replan, home, runs):
    for options in (["--tables"], []):
        done = replan("journal", "upgrade", *options, "--json")
        expected = {"journal": f"sqlite:{home / 'journal.sqlite3'}", "schema": VERSION, "codec": CODEC}
        assert json.loads(done.stdout) == expected
