"""`--last` stands for the newest run in every command that takes a run, so that nobody has to copy an id."""

import json

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, RECON
from tests.cli.test_bad_input import assert_refused

FIRST = {"g_analysis": ANALYSIS, "g_recon": RECON}
"""The steps that run at the same time, with a reply of each."""

THIN = "Make it better, please."
BETTER = "The export in invoices/export.py raises ValueError for an empty total; it should write 0.00."


@pytest.fixture
def waiting(replan):
    """The newest of two runs, which both wait for an answer."""
    for _ in range(2):
        assert replan("run", "-", "-m", "template:bug", "--no-input", input=THIN).exit_code == 6
    return run_id(replan)


def questions(replan, *arguments):
    """Return the ids of the listed questions."""
    return [question["id"] for question in json.loads(replan("questions", *arguments, "--json").stdout)["questions"]]


def test_the_only_question_of_the_newest_run_is_answered(replan, waiting):
    assert len(questions(replan)) == 2
    assert questions(replan, "--last") == [f"{waiting}/q1"]
    answered = json.loads(replan("answer", "--last", BETTER, "--json").stdout)
    assert (answered["question"], answered["result"]) == (f"{waiting}/q1", "accepted")
    assert questions(replan, "--last") == []
    assert len(questions(replan)) == 1
    assert_refused(replan("answer", "--last", "again"), waiting, "it has no open question", "`replan questions`")
    assert json.loads(replan("answer", "--last", "q1", BETTER, "--json").stdout)["result"] == "duplicate"


def test_the_only_question_of_the_newest_run_is_declined(replan, waiting):
    result = replan("answer", "--last", "--decline")
    assert f"{waiting}/q1 is declined" in result.stderr
    assert "q1 was declined so before" in replan("answer", "--last", "q1", "--decline").stderr


def test_of_several_questions_one_is_named(replan, problem, scripted):
    asking = {step: [{**reply, "open_questions": [f"What of {step}?"]}] for step, reply in FIRST.items()}
    replan("run", problem, "-m", scripted(asking), "--no-input")
    names = [name.partition("/")[2] for name in questions(replan, "--last")]
    assert len(names) == 2
    assert_refused(replan("answer", "--last", "3.11"), "2 open questions", "`replan answer --last ID TEXT`")
    assert replan("answer", "--last", names[1], "Linux").exit_code == 0


def test_a_note_goes_to_the_newest_run_which_can_be_cancelled(replan, waiting):
    assert json.loads(replan("tell", "--last", "It is slow.", "--json").stdout)["run_id"] == waiting
    assert json.loads(replan("tell", "-", "--last", "--json", input="Since May.").stdout)["run_id"] == waiting
    assert json.loads(replan("cancel", "--last", "--json").stdout)["run_id"] == waiting
    assert "No plan: cancelled" in replan("show", "--last").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("answer",), "no question is named"),
        (("answer", "k7m2x9qa/q1"), "there is no answer"),
        (("answer", "--last"), "there is no answer"),
        (("answer", "--last", "yes", "--decline", "no"), "both an answer and --decline"),
        (("tell",), "no run is named"),
        (("tell", "k7m2x9qa"), "nothing to tell"),
        (("tell", "--last"), "nothing to tell"),
        (("tell", "k7m2x9qa", "text", "--last"), "both a run and --last"),
        (("cancel",), "no run is named"),
        (("cancel", "k7m2x9qa", "--last"), "both a run and --last"),
        (("questions", "k7m2x9qa", "--last"), "both a run and --last"),
    ],
)
def test_what_is_missing_or_too_much_is_said(replan, arguments, told):
    assert_refused(replan(*arguments), told)


@pytest.mark.parametrize("arguments", [("answer", "--last", "x"), ("tell", "--last", "x"), ("cancel", "--last")])
def test_without_runs_there_is_no_newest_one(replan, arguments):
    result = replan(*arguments)
    assert result.exit_code == 8
    assert "no runs yet" in result.stderr
