"""`home copy` there and back: no view shows a moved run as one that waits, and one journal keeps driving it."""

import json

import pytest

from tests.cli.conftest import run_id

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
    assert "it stays in" in back.stderr
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
        assert "go on with it there" in refused.stderr
    for command in (("show", run), ("runs",), ("runs", "--waiting")):
        shown = replan(*command)
        assert shown.exit_code == 0
        assert "Waiting for you" not in shown.stdout + shown.stderr
        assert "waiting" not in shown.stdout
    [row] = json.loads(replan("runs", "--json").stdout)["runs"]
    assert (row["status"], row["moved_to"]) == ("moved", place)
    assert json.loads(replan("runs", "--waiting", "--json").stdout)["runs"] == []
    assert json.loads(replan("show", run, "--json").stdout)["status"] == "moved"
