"""`accept`: what the world says becomes a fact, is refused, or is a duplicate; nothing that it says breaks the run."""

import json

import pytest

from actors.planning.events import EVENTS
from actors.planning.machine import PlanningMachine
from actors.run.calls import Faulted, Generated
from actors.run.state import NotStarted
from runtime.core.errors import MachineRunsAway
from runtime.core.events import Codec
from runtime.core.ledger import Amount, Limits
from runtime.core.machine import SETTLE_MAX, settle
from runtime.core.messages import Crashed, Mailed
from runtime.models.port import Fault, FaultKind, Reply
from tests.support.worlds import World, passed, pinned, rejected

HALF = "half a \ud800 pair"
"""Text as Python can hold it and no file can."""


def world(judge=lambda *_: passed()):
    made = World(pinned({"g_plan": {}}), judge=judge)
    made.begin(f"problem {HALF}")
    return made


def mailed(body):
    return Mailed(1, f"key {HALF}", body, 1001.0)


MESSAGES = {
    "a reply": Generated("g_plan/v1.a1", 1001.0, 1.0, Reply(HALF, None, HALF, HALF)),
    "a fault": Faulted("g_plan/v1.a1", 1001.0, 1.0, Fault(kind=FaultKind.AUTH, message=HALF)),
    "a crash": Crashed("g_plan/v1.a1", 1001.0, HALF),
    "mail": mailed(json.dumps({"kind": "answer", "question": HALF, "answer": HALF})),
    "deep mail": mailed("[" * 100_000),
    "a number": mailed("9" * 10_000),
    "no text": mailed('{"kind": ["answer"]}'),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_whatever_is_said_can_be_written_down(name):
    """A lone surrogate has no UTF-8: every text from outside is made storable where it comes in."""
    made, codec = world(), Codec(EVENTS)
    assert made.send(MESSAGES[name])
    for event in made.events:
        stored = codec.encode(event)
        assert codec.decode(stored.body, stored.texts) == event


@pytest.mark.parametrize("at", [1001.0, 1010.0])
def test_a_child_run_that_ended_by_its_deadline_ends_its_parent_if_the_deadline_is_that_of_both(at):
    """It is no result of the child: once the deadline is set anew, the child goes on."""
    made = World(pinned({"g_plan": {}}), judge=lambda *_: passed())
    made.limits = Limits(calls=9, deadline=1005.0)
    made.begin()
    made.send(Generated("g_plan/v1.a1", at, 1.0, Reply("{}", None, "toy"), Amount(calls=2), out_of_time=True))
    end = made.state.run.finished
    assert (end is not None and end.why == "the deadline has passed") is (at > 1005.0)
    assert ("g_plan/v1.a1" in made.state.run.calls.open) is (at > 1005.0), "its call is asked for again"


def test_an_answer_with_half_a_pair_is_taken():
    made = world(judge=lambda *_: rejected("requirements.missing"))
    made.run()
    made.send(mailed(json.dumps({"kind": "answer", "question": "q1", "answer": f"yes {HALF}"})))
    assert made.state.run.clarifications[0].answer == "yes half a ? pair"


def test_a_repeated_text_is_known_again_after_it_was_made_storable():
    made = World(pinned({"g_plan": {}}), judge=lambda *_: rejected("plan.cycle"))
    made.author = lambda *_: Reply(HALF, None, "toy")
    made.run()
    assert [node.repeats for node in made.state.nodes.values()] == [None, "g_plan/v1.a1", "g_plan/v1.a1"]


def test_a_machine_that_never_comes_to_rest_is_stopped():
    class Endless(PlanningMachine):
        def advance(self, state):
            return "again"

        def evolve(self, state, event):
            return state

    with pytest.raises(MachineRunsAway, match=str(SETTLE_MAX)):
        settle(Endless(), NotStarted())
