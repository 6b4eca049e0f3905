"""`home copy` there and back: one journal keeps driving a run, old runs leave the other, and no view is mistaken."""

import json
from pathlib import Path

import apsw
import pytest

from tests.cli.conftest import SCRIPT, run_id
from tests.cli.samples import ANALYSIS, ASKING, LOST, PLAN, distinct
from tests.cli.test_bad_input import assert_refused
from tests.cli.test_delete import BELOW, PARENT, counts, ids

VAGUE = "Make it better, please."


@pytest.fixture
def other(tmp_path):
    """The home of the journal that the run is moved to."""
    return tmp_path / "other"


@pytest.fixture
def asked(replan, home, other):
    """Move a run that waits for an answer, and return its id with the addresses of both journals."""
    replan("run", "-", "-m", "template:bug", "--no-input", input=VAGUE)
    run = run_id(replan)
    addresses = [f"sqlite:{folder / 'journal.sqlite3'}" for folder in (home, other)]
    assert replan("home", "copy", *addresses).stdout.split() == [run]
    return run, *addresses


def test_a_run_that_was_answered_elsewhere_is_not_copied_back_over_its_mark(replan, asked, other, monkeypatch):
    """Exit 8 says that it was not copied; the journal that has the answer still drives it (R1)."""
    run, first, second = asked
    monkeypatch.setenv("REPLAN_HOME", str(other))
    assert replan("answer", f"{run}/q1", "The export writes no header.").exit_code == 0
    back = replan("home", "copy", second, first)
    assert back.exit_code == 8
    assert f"run '{run}'" in back.stderr
    assert "the run stays in" in back.stderr
    shown = json.loads(replan("show", run, "--json").stdout)
    assert shown["status"] != "moved"
    resumed = replan("resume", run, "--no-input", "--json")
    assert resumed.exit_code in (0, 3, 6), resumed.stderr
    assert "The export writes no header." in replan("show", run, "--events", "--json").stdout


def test_every_view_shows_a_moved_run_as_moved(replan, asked):
    """No view asks for an answer that would be refused, since the run is in another journal (R5)."""
    run, _, second = asked
    place = second
    assert json.loads(replan("questions", "--json").stdout)["questions"] == []
    assert run not in replan("questions").stdout
    for command in (
        ("questions", run),
        ("resume", run, "--no-input"),
        ("answer", f"{run}/q1", "Yes"),
        ("tell", run, "x"),
    ):
        refused = replan(*command)
        assert refused.exit_code == 8, refused.output
        assert place in refused.stderr
        assert "continue the run there" in refused.stderr
    for command in (("show", run), ("runs",), ("runs", "--waiting")):
        shown = replan(*command)
        assert shown.exit_code == 0
        assert "Waiting for you" not in shown.stdout + shown.stderr
        assert "waiting" not in shown.stdout
    [row] = json.loads(replan("runs", "--json").stdout)["runs"]
    assert (row["status"], row["moved_to"]) == ("moved", place)
    assert json.loads(replan("runs", "--waiting", "--json").stdout)["runs"] == []
    assert json.loads(replan("show", run, "--json").stdout)["status"] == "moved"


VIEWS = [
    ["show"],
    ["show", "--full"],
    ["show", "--json"],
    ["show", "--tree", "--json"],
    ["show", "--plan"],
    ["show", "--events", "--json"],
    ["show", "--prompt", "g_plan/v1.a1", "--json"],
    ["log", "--follow"],
    ["export"],
]


@pytest.fixture
def journals(home, other):
    return [f"sqlite:{folder / 'journal.sqlite3'}" for folder in (home, other)]


@pytest.fixture
def aged(home):
    """Make a run older by some days."""

    def call(run, days):
        connection = apsw.Connection(str(home / "journal.sqlite3"))
        connection.execute("UPDATE runs SET updated = updated - ? WHERE run = ?", (days * 86_400, run))
        connection.close()

    return call


def test_old_runs_are_moved_and_every_view_of_them_is_as_before(replan, planned, journals, monkeypatch):
    home, other = [Path(url.removeprefix("sqlite:")).parent for url in journals]
    run = planned()
    before, rows = [replan(view[0], run, *view[1:]).stdout for view in VIEWS], counts(home)
    done = replan("home", "copy", journals[1], "--ended", "--delete", "--json")
    assert json.loads(done.stdout) == {
        "target": journals[1],
        "runs": [{"run_id": run, "new": True, "deleted": True, "problem": None}],
    }
    assert f"1 run copied to {journals[1]}, 0 already there, 0 not copied, 1 deleted here" in done.stderr
    assert set(counts(home).values()) == {0}
    assert_refused(replan("show", run), "no run", code=8)
    assert replan("home", "verify").exit_code == 0
    monkeypatch.setenv("REPLAN_HOME", str(other))
    assert [replan(view[0], run, *view[1:]).stdout for view in VIEWS] == before
    back = replan("home", "copy", *reversed(journals), "--run", run[:6], "--delete")
    assert (back.stdout, back.exit_code) == (f"{run}\n", 0)
    monkeypatch.setenv("REPLAN_HOME", str(home))
    assert counts(home) == rows
    assert [replan(view[0], run, *view[1:]).stdout for view in VIEWS] == before


def test_a_filter_chooses_old_runs_that_never_go_on_runs_that_have_ended_or_runs_by_name(
    replan, planned, aged, journals
):
    old, new = planned(), planned()
    waiting = planned({**SCRIPT, "g_analysis": [ASKING, ANALYSIS]})
    pruned = planned({"g_plan": distinct(LOST, 3)}, "-w", "single")
    for run in (old, waiting, pruned):
        aged(run, 31)
    target = journals[1]
    assert replan("home", "copy", target, "--older-than", "30d").stdout == f"{old}\n"
    assert replan("home", "copy", target, "--older-than", "30d", "--delete").stdout == f"{old}\n", "it is deleted later"
    assert replan("home", "copy", target, "--older-than", "30d", "--delete").stdout == ""
    assert replan("home", "copy", target, "--older-than", "30d", "--ended", "--delete").stdout == f"{pruned}\n"
    assert replan("home", "copy", target, "--run", new, "--run", new, "--delete").stdout == f"{new}\n"
    assert replan("home", "copy", target, "--ended", "--delete").stdout == ""
    assert ids(replan) == [waiting]
    assert replan("home", "copy", target).stdout == f"{waiting}\n"


def test_a_run_is_moved_with_the_runs_of_its_steps_or_stays_with_them(replan, home, planned, journals, tmp_path):
    (tmp_path / "below.yaml").write_text(BELOW)
    (tmp_path / "parent.yaml").write_text(PARENT)
    run = planned({"g_plan": [PLAN], "g_sketch": []}, "-w", tmp_path / "parent.yaml")
    child = json.loads(replan("show", run, "--tree", "--json").stdout)["nodes"][0]["child"]
    assert_refused(replan("home", "copy", journals[1], "--run", child), "is a step of run", f"--run {run}")
    connection = apsw.Connection(str(home / "journal.sqlite3"))
    for status, detail in (("waiting", "q1"), ("finished", "success")):
        connection.execute("UPDATE runs SET status = ?, detail = ? WHERE run = ?", (status, detail, child))
        done = replan("home", "copy", journals[1], "--ended", "--delete", "--json")
        rows = json.loads(done.stdout)["runs"]
        if status == "waiting":
            cause = f"run {child} has not ended"
            assert rows == [{"run_id": run, "new": False, "deleted": False, "problem": cause}]
            assert (done.exit_code, counts(home)["runs"]) == (8, 2)
            assert f"run {run} stays in {journals[0]}: {cause}" in done.stderr
    connection.close()
    assert {row["run_id"] for row in rows if row["deleted"]} == {run, child}
    assert set(counts(home).values()) == {0}


def test_a_run_that_is_open_driven_or_elsewhere_is_refused_by_name(replan, home, asked, planned, tmp_path):
    run, first, second = asked
    third = f"sqlite:{tmp_path / 'third' / 'journal.sqlite3'}"
    for target, words in ((third, f"was moved to {second}"), (second, f"run {run} has not ended")):
        refused = replan("home", "copy", first, target, "--run", run, "--delete")
        assert refused.exit_code == 8
        assert words in refused.stderr
        assert "1 not copied, 0 deleted" in refused.stderr
    held = planned()
    connection = apsw.Connection(str(home / "journal.sqlite3"))
    connection.execute("UPDATE runs SET owner = 'somebody', lease_end = 9e9 WHERE run = ?", (held,))
    connection.close()
    for choice in (("--run", held), ("--ended",)):
        refused = replan("home", "copy", second, *choice, "--delete")
        assert refused.exit_code == 8
        assert f"run {held} is driven by another process" in refused.stderr
    assert sorted(ids(replan)) == sorted((run, held))


@pytest.mark.parametrize(
    "refused",
    [
        (["--delete"], ["--delete: this option needs another option that chooses runs", "--run RUN"], 2),
        (["--run", "k7m2x9qa", "--ended"], ["--run: this option cannot be used with --older-than or --ended"], 2),
        (["--run", "k7m2x9qa"], ["no run 'k7m2x9qa'"], 8),
        (["sqlite:a", "sqlite:b"], ["more than two journals"], 2),
    ],
)
def test_wrong_choices_are_refused_and_make_no_journal(replan, planned, journals, other, refused):
    arguments, words, code = refused
    planned()
    assert_refused(replan("home", "copy", journals[1], *arguments), *words, code=code)
    assert not other.exists()
