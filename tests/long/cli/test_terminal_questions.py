"""Questions on the terminal: typed and pasted answers, and commands in another shell meanwhile."""

import json
import threading

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, ASKING, PLAN, delayed_reply
from tests.support.openai_server import Answer, by_step, serve

PROMPT = "an empty line asks again(?s:.*)> $"


@pytest.fixture
def terminal(home, problem, scripted, in_terminal):
    model = scripted({"g_analysis": [delayed_reply(ASKING, seconds=1), ANALYSIS], "g_plan": [PLAN]})
    return in_terminal("run", problem, "-m", model, "-w", "option_a")


def answers(replan):
    shown = json.loads(replan("show", run_id(replan), "--events", "--json").stdout)["events"]
    return [event["answer"] for event in shown if "answer" in event]


def test_input_before_the_question_is_not_an_answer(in_terminal, problem, replan):
    """The model asks only once the terminal holds the typed line, so that the question always comes later."""
    typed = threading.Event()
    scripted = by_step({"g_analysis": [Answer.value(ASKING), Answer.value(ANALYSIS)], "g_plan": [Answer.value(PLAN)]})

    def answer(body, headers, n):
        assert typed.wait(30)
        return scripted(body, headers, n)

    with serve(answer) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "key"}
        terminal = in_terminal("run", problem, "-m", "test", "-w", "option_a", **environment)
        terminal.read_until("under way")
        terminal.type("typed too early\n")
        terminal.wait_for_unread_input()
        typed.set()
        terminal.read_until(PROMPT)
        terminal.type("3.12\n")
        assert terminal.end() == 0
    assert answers(replan) == ["3.12"]


@pytest.mark.parametrize("pasted", ["3.12\non Linux\n\nand BSD\n", "3.12\non Linux\n\nand BSD"])
def test_pasted_lines_are_one_answer(terminal, replan, pasted):
    """With or without a newline at the end: no input is left for the shell."""
    terminal.read_until(PROMPT)
    terminal.type(pasted)
    assert terminal.end() == 0
    assert answers(replan) == ["3.12\non Linux\n\nand BSD"]


def test_an_answer_of_another_shell_is_kept(terminal, replan):
    terminal.read_until(PROMPT)
    assert replan("answer", f"{run_id(replan)}/q1", "3.11").exit_code == 0
    terminal.type("3.12\n")
    assert terminal.end() == 0
    assert "answered elsewhere: 3.11" in terminal.text
    assert answers(replan) == ["3.11"]


def test_an_answer_of_another_shell_is_kept_after_its_resume(terminal, replan):
    terminal.read_until(PROMPT)
    replan("answer", f"{run_id(replan)}/q1", "3.11")
    assert replan("resume", "--last").exit_code == 0
    terminal.type("3.12\n")
    assert terminal.end() == 0
    assert "answered elsewhere: 3.11" in terminal.text
    assert "Proved at level medium" in terminal.text


def test_a_cancel_in_another_shell_is_reported(terminal, replan):
    terminal.read_until(PROMPT)
    assert replan("cancel", run_id(replan)).exit_code == 0
    terminal.type("3.12\n")
    assert terminal.end() == 7
    assert "the run was cancelled elsewhere" in terminal.text


def test_an_invalid_answer_is_asked_for_again(terminal, replan):
    """An answer has at most 100,000 characters; a longer one is refused with the reason."""
    terminal.read_until(PROMPT)
    terminal.type(("x" * 1000 + "\n") * 101)
    terminal.read_until(r"at most 100000\s+characters(?s:.*)> $")
    terminal.type("3.12\n")
    assert terminal.end() == 0
    assert answers(replan) == ["3.12"]
