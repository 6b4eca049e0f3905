"""The simulated world of tools: what holds in truth, what calls report, and the plans of its author."""

import json

import pytest

from actors.execution.replan_rules import guard_of, prove
from actors.run.tools import ToolOutcome
from replan_lab.simulated.tool_world import Task, ToolOdds, ToolWorld, Ways, token_of

TASK = Task(goals=2, steps=2, ways=3, attempts=2)
CALLS = 2_000


def world(seed=1000, **odds):
    """Return a world with some odds; all others are that nothing fails."""
    return ToolWorld(ToolOdds(name="world", description="a world", **odds), TASK, seed)


def share(outcome, tool="g1s1_way0", done=(), **odds):
    """Return the share of calls with an outcome, each in a world of its own seed, time and node."""
    hits = 0
    for number in range(CALLS):
        where = world(number, **odds)
        where.done.update(done)
        hits += where.call(tool, f"node{number}", 60.0 * number).outcome == outcome
    return hits / CALLS


@pytest.mark.parametrize(
    ("outcome", "call", "odds"),
    [
        (ToolOutcome.FAILED, {}, {"fails": 0.3}),
        (ToolOutcome.TRANSIENT, {}, {"transient": 0.3}),
        (ToolOutcome.TRANSIENT, {}, {"outages": 0.3}),
        (ToolOutcome.PERMANENT, {}, {"broken": 0.3}),
        (ToolOutcome.FAILED, {}, {"unsuited": 0.3}),
        (ToolOutcome.SUCCEEDED, {}, {"fails": 1.0, "lies": 0.3}),
        (ToolOutcome.SUCCEEDED, {"tool": "g1s1_check"}, {"misses": 0.3}),
        (ToolOutcome.FAILED, {"tool": "g1s1_check", "done": ["g1s1"]}, {"alarms": 0.3}),
    ],
)
def test_calls_end_as_often_as_the_odds_say(outcome, call, odds):
    assert share(outcome, **call, **odds) == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize(
    ("odds", "outcome"), [({"broken": 1.0}, ToolOutcome.PERMANENT), ({"unsuited": 1.0}, ToolOutcome.FAILED)]
)
def test_a_broken_tool_stays_broken_and_an_unsuited_one_never_brings_a_result(odds, outcome):
    where = world(**odds)
    assert {where.call("g1s1_way0", f"n{number}", 0.0).outcome for number in range(9)} == {outcome}
    assert not where.done


def test_nothing_comes_of_a_step_before_what_it_needs_holds():
    where = world()
    assert where.call("g1s2_way0", "n1", 0.0).outcome is ToolOutcome.FAILED
    where.call("g1s1_way2", "n2", 0.0)
    assert where.call("g1s2_way0", "n3", 0.0).outcome is ToolOutcome.SUCCEEDED
    assert where.done == {"g1s1", "g1s2"}
    assert TASK.achieved(where.done) == 1


def test_an_interrupted_call_may_have_done_its_work():
    done = 0
    for number in range(CALLS):
        where = world(transient=1.0, late=0.3)
        where.call("g1s1_way0", f"n{number}", 0.0)
        done += "g1s1" in where.done
        assert where.ran == where.done
    assert done / CALLS == pytest.approx(0.3, abs=0.04)


def test_the_same_seed_and_node_give_the_same_call():
    odds = {"fails": 0.3, "transient": 0.3, "lies": 0.5}
    calls = [[world(**odds).call("g1s1_way0", f"n{number}", 0.0) for number in range(50)] for _ in range(2)]
    assert calls[0] == calls[1]


def test_a_person_does_a_share_of_the_steps_whose_needs_hold():
    assert not world().do_by_hand("g1s2", 1.0)
    able = sum(world(seed).do_by_hand("g1s1", 0.3) for seed in range(CALLS))
    assert able / CALLS == pytest.approx(0.3, abs=0.04)


def test_the_author_tries_the_tools_of_a_step_in_turn_and_every_plan_is_proved():
    ways, tools = Ways(TASK), TASK.tools(0, 0.5)
    guard = guard_of("plan_expansive", tools, "strong_cyclic", 100)
    plans = [TASK.plan({}), ways.next_plan("g1s1", ["start"]), ways.next_plan("g1s2", ["start", token_of("g1s1")])]
    for plan in plans:
        verdict = prove(guard, json.dumps(plan))
        assert verdict.passed, verdict.findings
    assert [plan["steps"][0]["generator"] for plan in plans] == ["g1s1_way0", "g1s1_way1", "g1s2_way1"]
    assert ways.next_plan("g1s1", ["start"]) is not None
    assert ways.next_plan("g1s1", ["start"]) is None
