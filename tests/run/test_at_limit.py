"""A run with a child run, whose common deadline passes while a person can be asked."""

import json

import pytest

from actors.run.at_limit import raise_limit
from actors.run.calls import Generated
from runtime.core.ledger import Limit, Limits
from runtime.core.messages import Mailed, Woken
from runtime.models.port import Reply
from tests.support.planning_start import planning_start
from tests.support.worlds import World, passed, pinned

CALL = "plan/v1.a1"
STEPS = {"plan": {"role": "plan", "requires": [], "generator": "workflow:below", "child_calls": 4}}


def at_deadline(at_limit):
    """Return a run whose only step is a child run, at its deadline."""
    world = World(pinned(STEPS), judge=lambda *_: passed(), limits=Limits(deadline=1_000_100.0, at_limit=at_limit))
    world.now = 1_000_000.0
    world.send(planning_start(world.now, world.config, world.limits))
    assert CALL in world.machine.outstanding(world.state)
    return world


def ended_in_time(world):
    """Send the reply of a child run that has ended at the deadline."""
    return world.send(Generated(CALL, 1_000_100.0, 1.0, Reply("{}", None, "toy"), out_of_time=True))


@pytest.mark.parametrize("first", ["child", "parent"])
def test_the_run_above_asks_at_the_common_deadline_and_the_child_run_goes_on_with_the_answer(first):
    world = at_deadline("ask")
    if first == "parent":
        world.send(Woken("deadline", 1_000_100.0))
    ended_in_time(world)
    run = world.state.run
    assert list(run.open_questions) == ["q1"]
    assert CALL in run.calls.open
    assert CALL not in world.machine.outstanding(world.state), "the child run rests while a person thinks"
    more = next(iter(run.questions["q1"].request.reached.more))
    body = json.dumps({"kind": "answer", "question": "q1", "answer": more})
    world.send(Mailed(1, "answer:q1", body, 1_500_000.0))
    work = world.machine.outstanding(world.state)[CALL]
    assert world.machine.brief(world.state, work).change["deadline"] == world.state.run.ledger.ends_at > 1_500_000.0


def test_the_run_above_ends_at_the_common_deadline_if_it_may_not_ask():
    world = at_deadline("stop")
    ended_in_time(world)
    assert world.state.run.finished.why == "the deadline has passed"


def test_a_raised_deadline_is_the_one_that_the_journal_stores():
    """Found by the simulation (seed 6366): a sum with more digits than a microsecond was another one after a crash."""
    raised = raise_limit(Limits(deadline=2_000.0, at_limit="ask"), Limit.DEADLINE, 120, 2_044.060784)
    assert raised.deadline == 2_164.060784 != 2_044.060784 + 120
    assert Limits.model_validate_json(raised.model_dump_json()) == raised
