"""Runs that wait for the user: questions, answers, resuming and cancelling, each perhaps in another process."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, ASKING, PLAN
from tests.cli.test_bad_input import refused


@pytest.fixture
def waiting(replan, problem, scripted):
    """A run that has asked which version it is; its id."""
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    done = replan("run", problem, "-m", model, "-w", "option_a", "--json")
    assert done.exit_code == 6, done.output
    return json.loads(done.stdout)["run_id"]


def test_a_run_that_needs_an_answer_waits_with_exit_6(replan, waiting):
    done = replan("resume", waiting, "--json")
    shown = json.loads(done.stdout)
    assert done.exit_code == 6
    assert (shown["status"], shown["question"]["id"]) == ("waiting", f"{waiting}/q1")
    assert "outcome" not in shown
    assert f"replan answer {waiting}/q1 TEXT" in done.stderr
    assert f"replan resume {waiting}" in done.stderr


def test_a_waiting_run_that_is_shown_says_how_to_answer(replan, waiting):
    shown = replan("show", waiting)
    assert "Which version is it?" in shown.stdout
    assert shown.stderr == f"replan: answer with: replan answer {waiting}/q1 TEXT\n"
    assert replan("show", waiting, "--json").stderr == ""


def test_questions_are_listed_for_all_runs_and_for_one(replan, waiting):
    for arguments in ((), (waiting,), (waiting[:6],)):
        shown = json.loads(replan("questions", *arguments, "--json").stdout)
        assert [one["id"] for one in shown["questions"]] == [f"{waiting}/q1"]
        assert "Which version is it?" in shown["questions"][0]["text"]
    listed = replan("questions")
    assert f"{waiting}/q1" in listed.stdout
    assert listed.stderr == f"replan: answer with: replan answer {waiting}/q1 TEXT\n"


def test_what_the_user_said_stands_apart_from_what_was_accepted(replan, waiting):
    replan("tell", waiting, "It is slow")
    lines = replan("show", waiting).stdout.splitlines()
    place = lines.index("No step was accepted.")
    assert lines[place - 3 : place] == ["You said", "   note: It is slow (not yet seen)", ""]


@pytest.mark.parametrize("text", ["3.12", "-"])
def test_an_answer_lets_the_run_go_on(replan, waiting, text):
    posted = replan("answer", f"{waiting}/q1", text, input="version 3.12\non Linux\n")
    assert posted.exit_code == 0
    assert f"replan resume {waiting}" in posted.stderr
    done = replan("resume", "--last", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["plan"] == PLAN
    assert json.loads(replan("questions", "--json").stdout) == {"questions": []}


def test_a_script_named_from_one_folder_is_found_from_another(replan, problem, scripted, tmp_path, monkeypatch):
    """So a host can drive the run as well, wherever it was started."""
    script = Path(scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]}).removeprefix("scripted:"))
    monkeypatch.chdir(script.parent)
    run = json.loads(replan("run", problem, "-m", f"scripted:{script.name}", "-w", "option_a", "--json").stdout)[
        "run_id"
    ]
    assert replan("answer", f"{run}/q1", "3.12").exit_code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert replan("resume", run).exit_code == 0


def test_the_same_answer_twice_is_fine_and_another_one_is_not(replan, waiting):
    assert replan("answer", f"{waiting}/q1", "3.12").exit_code == 0
    again = replan("answer", f"{waiting}/q1", "3.12")
    assert again.exit_code == 0
    assert "was answered so before" in again.stderr
    refused(replan("answer", f"{waiting}/q1", "3.13"), "another answer", "counts")
    assert replan("resume", waiting).exit_code == 0
    assert "go on with" not in replan("answer", f"{waiting}/q1", "3.12").stderr


def test_answers_that_fit_no_question_are_refused(replan, waiting):
    refused(replan("answer", f"{waiting}/q2", "3.12"), "no open question", "replan questions")
    for no_id in ("q1", "/", "/ x", "/q1", f"{waiting}/"):
        refused(replan("answer", no_id, "3.12"), "is not a question's id", "RUN/ID")
    refused(replan("answer", f"{waiting}/q1", "  "), "some text")
    refused(replan("answer", f"{waiting}/q1", "x" * 100_001), "100000")
    refused(replan("answer", f"{waiting}/q1", "-", input=b"\0\0"), "binary")
    refused(replan("answer", "zzzzzz/q1", "3.12"), "no run", code=8)


def test_a_waiting_run_is_listed_with_its_question(replan, waiting):
    rows = json.loads(replan("runs", "--waiting", "--json").stdout)["runs"]
    assert [(row["run_id"], row["status"], row["question"]) for row in rows] == [(waiting, "waiting", f"{waiting}/q1")]
    assert waiting in replan("runs", "--waiting").stdout
    replan("cancel", waiting)
    assert json.loads(replan("runs", "--waiting", "--json").stdout) == {"runs": []}


def test_a_run_that_was_answered_does_not_wait_any_more_before_anybody_drives_it(replan, waiting):
    replan("answer", f"{waiting}/q1", "3.12")
    shown = replan("show", waiting)
    assert shown.stdout.startswith("Parked\n")
    assert shown.stderr == f"replan: go on with: replan resume {waiting}\n"
    assert "question" not in json.loads(replan("show", waiting, "--json").stdout)
    assert json.loads(replan("runs", "--waiting", "--json").stdout) == {"runs": []}
    (row,) = json.loads(replan("runs", "--json").stdout)["runs"]
    assert row["status"] == "parked"
    assert "question" not in row
    assert "waiting_since" not in row


def test_a_run_that_was_only_told_something_waits_still(replan, waiting):
    replan("tell", waiting, "The store is Redis.")
    assert replan("show", waiting).stdout.startswith("Waiting for you\n")
    (row,) = json.loads(replan("runs", "--waiting", "--json").stdout)["runs"]
    assert row["question"] == f"{waiting}/q1"


def test_cancelling_a_run_that_nobody_drives_ends_it_without_a_call(replan, waiting):
    calls = json.loads(replan("show", waiting, "--json").stdout)["calls"]
    done = replan("cancel", waiting)
    assert done.exit_code == 0
    assert f"run {waiting} is cancelled" in done.stderr
    shown = replan("resume", waiting, "--json")
    assert shown.exit_code == 7
    assert json.loads(shown.stdout)["outcome"] == "cancelled"
    assert json.loads(shown.stdout)["calls"] == calls
    refused(replan("cancel", waiting), "finished already")


def test_a_finished_run_is_shown_again_by_resume(replan, problem, scripted):
    replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", "single")
    done = replan("resume", run_id(replan), "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["plan"] == PLAN
    assert replan("resume", "--last").exit_code == 8


def test_a_run_that_cannot_be_read_does_not_hide_the_questions_of_the_others(replan, home, problem, scripted, waiting):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    other = json.loads(replan("run", problem, "-m", model, "-w", "option_a", "--json").stdout)["run_id"]
    connection = sqlite3.connect(home / "journal.sqlite3")
    with closing(connection), connection:
        damage = "update events set body = x'00' where run = (select id from runs where run = ?)"
        assert connection.execute(damage, [waiting]).rowcount > 0
    for options in ([], ["--json"]):
        done = replan("questions", *options)
        assert done.exit_code == 0
        assert f"{other}/q1" in done.stdout
        assert f"warning: the questions of run {waiting} cannot be read: " in done.stderr
    assert replan("questions", waiting).exit_code == 9


def test_the_time_of_an_event_is_the_record_s_in_one_format(replan, waiting):
    """Also of events that say themselves when they happened."""
    events = json.loads(replan("show", waiting, "--events", "--json").stdout)["events"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["at"]) for event in events)
