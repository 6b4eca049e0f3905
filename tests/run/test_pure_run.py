"""A run that a test plays: what it shows, and what it refuses."""

import pytest

from actors.run.pure_run import PureRun
from actors.run.tools import ToolOutcome
from runtime.core.ledger import Limits
from runtime.core.machine import fold
from tests.run.haggler import Haggler


def test_a_run_is_played_to_its_end():
    run = PureRun(Haggler(), "a lamp")
    assert "a lamp" in run.prompt.user
    run.reply("80")
    assert run.question.text == "Sell a lamp at 80?"
    run.tell("cheaper", kind="requirement")
    run.reply("70")
    run.answer("yes")
    assert run.tool.arguments == '{"price": 70}'
    assert run.finished is None
    run.tool_ends(outcome=ToolOutcome.FAILED, reason="no paper")
    assert run.finished.outcome == "not_booked"
    assert run.data.refused == ("cheaper",)
    assert fold(run.machine, run.events) == run.state


def test_a_question_can_be_declined_and_limits_hold():
    run = PureRun(Haggler(), "a lamp")
    run.reply("80")
    run.decline()
    assert run.finished.outcome == "no_deal"
    run = PureRun(Haggler(), "a lamp", Limits(calls=1))
    run.reply("no price")
    assert run.finished.outcome == "budget_exhausted"


@pytest.mark.parametrize(
    ("act", "cause"),
    [
        (lambda run: run.answer("yes"), "the run waits for \\['model'\\]"),
        (lambda run: run.tool_ends(), "the run waits for"),
        (lambda run: run.tell("x", kind="odd"), "'odd' is none of"),
        (lambda run: run.tell(" "), "nothing in this message"),
    ],
)
def test_a_message_that_the_run_does_not_take_fails_the_test(act, cause):
    run = PureRun(Haggler(), "a lamp")
    with pytest.raises(AssertionError, match=cause):
        act(run)


def test_an_answer_that_does_not_fit_fails_the_test():
    run = PureRun(Haggler(), "a lamp")
    run.reply("80")
    with pytest.raises(AssertionError, match="yes"):
        run.answer("perhaps")
