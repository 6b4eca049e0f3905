"""Questions that are asked in place: what is typed or pasted, and what others did meanwhile in another shell."""

import json

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, ASKING, PLAN, said
from tests.cli.test_processes import Terminal

PROMPT = "answer later(?s:.*)> $"


@pytest.fixture
def asking(home, problem, scripted):
    """A terminal with a run that asks one question."""
    model = scripted({"g_analysis": [said(ASKING, seconds=1), ANALYSIS], "g_plan": [PLAN]})
    return Terminal("run", problem, "-m", model, "-w", "option_a")


def answers(replan):
    """Return the answers that the newest run took."""
    shown = json.loads(replan("show", run_id(replan), "--events", "--json").stdout)["events"]
    return [event["answer"] for event in shown if "answer" in event]


def test_what_was_typed_before_the_question_is_no_answer_to_it(asking, replan):
    asking.read_until("g_analysis")
    asking.type("typed too early\n")
    asking.read_until(PROMPT)
    asking.type("3.12\n")
    assert asking.end() == 0
    assert answers(replan) == ["3.12"]


@pytest.mark.parametrize("pasted", ["3.12\non Linux\n\nand BSD\n", "3.12\non Linux\n\nand BSD"])
def test_pasted_lines_are_one_answer(asking, replan, pasted):
    """Whether or not the last one is ended: none of it is left for the shell."""
    asking.read_until(PROMPT)
    asking.type(pasted)
    assert asking.end() == 0
    assert answers(replan) == ["3.12\non Linux\n\nand BSD"]


def test_an_answer_that_another_shell_gave_first_stands(asking, replan):
    asking.read_until(PROMPT)
    assert replan("answer", f"{run_id(replan)}/q1", "3.11").exit_code == 0
    asking.type("3.12\n")
    assert asking.end() == 0
    assert "answered elsewhere: 3.11" in asking.text
    assert answers(replan) == ["3.11"]


def test_an_answer_that_another_shell_has_gone_on_with_stands(asking, replan):
    asking.read_until(PROMPT)
    replan("answer", f"{run_id(replan)}/q1", "3.11")
    assert replan("resume", "--last").exit_code == 0
    asking.type("3.12\n")
    assert asking.end() == 0
    assert "answered elsewhere: 3.11" in asking.text
    assert "Proved at level medium" in asking.text


def test_a_run_that_was_cancelled_elsewhere_says_so(asking, replan):
    asking.read_until(PROMPT)
    assert replan("cancel", run_id(replan)).exit_code == 0
    asking.type("3.12\n")
    assert asking.end() == 7
    assert "the run was cancelled elsewhere" in asking.text


def test_an_answer_that_does_not_fit_is_asked_for_again(asking, replan):
    """A hundred thousand letters fit; more do not, and the user is told why."""
    asking.read_until(PROMPT)
    asking.type(("x" * 1000 + "\n") * 101)
    asking.read_until("has at most 100000 characters(?s:.*)> $")
    asking.type("3.12\n")
    assert asking.end() == 0
    assert answers(replan) == ["3.12"]
