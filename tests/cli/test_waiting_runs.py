"""Runs that wait for the user: questions, answers, resumes and cancels."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from replan.cli.hints import say_answer_command
from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, ASKING, LOST, PLAN, distinct
from tests.cli.test_bad_input import assert_refused


@pytest.fixture
def waiting(replan, problem, scripted):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    result = replan("run", problem, "-m", model, "-w", "option_a", "--json")
    assert result.exit_code == 6, result.output
    return json.loads(result.stdout)["run_id"]


def test_a_run_that_needs_an_answer_waits_with_exit_6(replan, waiting):
    result = replan("resume", waiting, "--json")
    shown = json.loads(result.stdout)
    assert result.exit_code == 6
    assert (shown["status"], shown["question"]["id"]) == ("waiting", f"{waiting}/q1")
    assert "outcome" not in shown
    assert f"replan answer {waiting}/q1 TEXT" in result.stderr
    assert f"replan resume {waiting}" in result.stderr


def test_show_prints_how_to_answer_a_waiting_run(replan, waiting):
    shown = replan("show", waiting)
    assert "Which version is it?" in shown.stdout
    assert shown.stderr == f"replan: answer with: replan answer {waiting}/q1 TEXT\n"
    assert replan("show", waiting, "--json").stderr == ""


def test_questions_are_listed_for_all_runs_and_for_one(replan, waiting):
    for arguments in ((), (waiting,), (waiting[:6],)):
        shown = json.loads(replan("questions", *arguments, "--json").stdout)
        assert [item["id"] for item in shown["questions"]] == [f"{waiting}/q1"]
        assert "Which version is it?" in shown["questions"][0]["text"]
    listed = replan("questions")
    assert f"{waiting}/q1" in listed.stdout
    assert listed.stderr == f"replan: answer with: replan answer {waiting}/q1 TEXT\n"


def test_messages_of_the_user_are_shown_apart_from_accepted_artifacts(replan, waiting):
    replan("tell", waiting, "It is slow")
    lines = replan("show", waiting).stdout.splitlines()
    place = lines.index("No step was accepted.")
    assert lines[place - 3 : place] == ["You said", "   note: It is slow (not yet seen)", ""]


@pytest.mark.parametrize("text", ["3.12", "-"])
def test_an_answer_lets_the_run_go_on(replan, waiting, text):
    posted = replan("answer", f"{waiting}/q1", text, input="version 3.12\non Linux\n")
    assert posted.exit_code == 0
    assert f"replan resume {waiting}" in posted.stderr
    result = replan("resume", "--last", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["plan"] == PLAN
    assert json.loads(replan("questions", "--json").stdout) == {"questions": []}
    again = replan("answer", f"{waiting}/q1", text, input="version 3.12\non Linux\n")
    assert (again.exit_code, "already has this answer" in again.stderr) == (0, True)
    assert "go on with" not in again.stderr


def test_a_relative_script_path_is_resolved_at_the_start(replan, problem, scripted, tmp_path, monkeypatch):
    script = Path(scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]}).removeprefix("scripted:"))
    monkeypatch.chdir(script.parent)
    run = json.loads(replan("run", problem, "-m", f"scripted:{script.name}", "-w", "option_a", "--json").stdout)[
        "run_id"
    ]
    assert replan("answer", f"{run}/q1", "3.12").exit_code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert replan("resume", run).exit_code == 0


def test_an_answer_without_a_question_is_refused(replan, waiting):
    assert_refused(replan("answer", f"{waiting}/q2", "3.12"), "no open question", "replan questions")
    for no_id in ("q1", "/", "/ x", "/q1", f"{waiting}/"):
        assert_refused(replan("answer", no_id, "3.12"), "is not a question's id", "RUN/ID")
    assert_refused(replan("answer", f"{waiting}/q1", "-", input=b"\0\0"), "binary")


def test_a_waiting_run_is_listed_with_its_question(replan, waiting):
    rows = json.loads(replan("runs", "--waiting", "--json").stdout)["runs"]
    assert [(row["run_id"], row["status"], row["question"]) for row in rows] == [(waiting, "waiting", f"{waiting}/q1")]
    assert waiting in replan("runs", "--waiting").stdout
    replan("cancel", waiting)
    assert json.loads(replan("runs", "--waiting", "--json").stdout) == {"runs": []}


def test_an_answered_run_does_not_wait_even_before_its_resume(replan, waiting):
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


def test_a_note_does_not_end_the_waiting(replan, waiting):
    replan("tell", waiting, "The store is Redis.")
    assert replan("show", waiting).stdout.startswith("Waiting for you\n")
    (row,) = json.loads(replan("runs", "--waiting", "--json").stdout)["runs"]
    assert row["question"] == f"{waiting}/q1"


def test_a_cancel_ends_a_run_without_a_driver_and_without_a_call(replan, waiting):
    calls = json.loads(replan("show", waiting, "--json").stdout)["calls"]
    result = replan("cancel", waiting)
    assert result.exit_code == 0
    assert f"run {waiting} is cancelled" in result.stderr
    shown = replan("resume", waiting, "--json")
    assert shown.exit_code == 7
    assert json.loads(shown.stdout)["outcome"] == "cancelled"
    assert json.loads(shown.stdout)["calls"] == calls
    assert_refused(replan("cancel", waiting), "finished already")


def test_the_command_that_answers_a_question_has_its_choices(capsys):
    say_answer_command("k7m2x9qa/q1", ["yes", "not now"])
    say_answer_command("k7m2x9qa/q1", ["a long choice " * 9, "no"])
    told = [line.partition("q1 ")[2] for line in capsys.readouterr().err.splitlines()]
    assert told == ["yes | 'not now'", "CHOICE"]


def test_a_resume_of_the_newest_run_drives_no_older_one(replan, problem, scripted):
    replan("run", problem, "-m", scripted({"g_analysis": [ASKING]}), "-w", "option_a", "--no-input")
    waiting = run_id(replan)
    replan("run", problem, "-m", "template:bug")
    before = replan("log", waiting).stdout
    last = replan("resume", "--last", "--no-input")
    hint = f"`replan resume {waiting}` continues the newest run that can continue: "
    assert_refused(last, f"--last: the newest run, {run_id(replan)}, has finished", hint)
    assert replan("log", waiting).stdout == before


def test_the_newest_run_that_goes_on_may_have_finished_before_it_was_told_a_requirement(replan, problem, tmp_path):
    (tmp_path / "thin.md").write_text("Make it better, please.")
    for name in (tmp_path / "thin.md", tmp_path / "thin.md"):
        replan("run", name, "-m", "template:bug", "--no-input")
    run = run_id(replan)
    replan("answer", "--last", "--decline")
    ended = replan("resume", run)
    assert ended.exit_code == 3
    assert f"Next: tell the run the answer: `replan tell {run} TEXT --as requirement`, then" in ended.stdout
    replan("tell", run, "Clicking Save on /orders does nothing", "--as", "requirement")
    result = replan("resume", "--last", "--json")
    assert (json.loads(result.stdout)["run_id"], result.exit_code) == (run, 0)


def test_resume_prints_the_result_of_a_finished_run(replan, problem, scripted):
    replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", "single")
    result = replan("resume", run_id(replan), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["plan"] == PLAN
    last = replan("resume", "--last")
    assert last.exit_code == 0
    assert f"run {run_id(replan)} has finished: success. The run cannot go on;" in " ".join(last.stderr.split())


def test_a_spent_budget_is_raised(replan, problem, scripted):
    model = scripted({"g_plan": [LOST, distinct(LOST, 2)[1], PLAN]})
    result = replan("run", problem, "-m", model, "-w", "single", "--max-calls", "1")
    run = run_id(replan)
    assert result.exit_code == 5
    assert f"`replan resume {run} --max-calls N`" in " ".join(result.stdout.split())
    last = replan("resume", "--last")
    assert last.exit_code == 5
    assert f"has finished: budget_exhausted. `replan resume {run} --max-calls N`" in " ".join(last.stderr.split())
    refused = replan("resume", run, "--max-calls", "1")
    assert refused.exit_code == 2
    assert "--max-calls: the run has already used 1 calls, and the new limit is 1" in refused.stderr
    assert replan("resume", "--last", "--max-calls", "2").exit_code == 5
    result = replan("resume", "--last", "--max-calls", "3", "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert (shown["outcome"], shown["calls"]) == ("success", 3)
    assert "you changed the limits (now calls 3" in replan("log", run).stdout
    assert replan("resume", run, "--max-calls", "9").exit_code == 2, "a success is final"


@pytest.fixture
def other(replan, problem, scripted):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    return json.loads(replan("run", problem, "-m", model, "-w", "option_a", "--json").stdout)["run_id"]


def test_a_run_whose_records_are_damaged_is_listed_with_its_questions_and_takes_no_answer(replan, home, waiting, other):
    edit(home, "update events set body = x'00' where run = (select id from runs where run = ?)", waiting)
    for options in ([], ["--json"]):
        result = replan("questions", *options)
        assert (result.exit_code, result.stderr.count("warning")) == (0, 0)
        assert f"{other}/q1" in result.stdout
        assert f"{waiting}/q1" in result.stdout
    assert f"{waiting}/q1" in replan("questions", waiting).stdout
    assert replan("answer", f"{waiting}/q1", "Version 3").exit_code == 9


@pytest.mark.parametrize("answered", [False, True])
def test_a_run_whose_questions_cannot_be_read_does_not_hide_those_of_the_others(replan, home, waiting, other, answered):
    if answered:  # Then its records say which questions are left.
        assert replan("answer", f"{waiting}/q1", "Version 3").exit_code == 0
    table, column = ("events", "body") if answered else ("asked", "questions")
    edit(home, f"update {table} set {column} = x'00' where run = (select id from runs where run = ?)", waiting)
    for options in ([], ["--json"]):
        result = replan("questions", *options)
        assert result.exit_code == 0
        assert f"{other}/q1" in result.stdout
        assert f"warning: the questions of run {waiting} cannot be read: " in result.stderr
    assert replan("questions", waiting).exit_code == 9


def edit(home, statement, run):
    """Change what the file has of a run, as an editor of databases does."""
    connection = sqlite3.connect(home / "journal.sqlite3")
    with closing(connection), connection:
        assert connection.execute(statement, [run]).rowcount > 0


def test_the_time_of_an_event_is_the_record_s_in_one_format(replan, waiting):
    events = json.loads(replan("show", waiting, "--events", "--json").stdout)["events"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["at"]) for event in events)


def test_a_page_of_waiting_runs_counts_only_those_that_still_wait(replan, problem, scripted):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    runs = [
        json.loads(replan("run", problem, "-m", model, "-w", "option_a", "--json").stdout)["run_id"] for _ in range(3)
    ]
    assert replan("answer", f"{runs[2]}/q1", "3.12").exit_code == 0
    assert replan("answer", f"{runs[1]}/q1", "3.12").exit_code == 0
    waiting = ("runs", "--waiting", "--limit", "1", "--json")
    assert [row["run_id"] for row in json.loads(replan(*waiting).stdout)["runs"]] == [runs[0]]
    assert json.loads(replan(*waiting, "--page", "2").stdout)["runs"] == []
    assert len(json.loads(replan("runs", "--limit", "2", "--json").stdout)["runs"]) == 2
