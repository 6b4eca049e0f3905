"""Exploring all traces: what is merged, what is left out, and what must not be left out."""

from actors.plans.exploration import BrokenInvariant, explore
from actors.plans.reader import read_plan
from actors.plans.semantics import compile_plan
from tests.plans.build import plan, step
from tests.plans.reference import Walk


def explore_json(value, limit=100_000):
    return explore(compile_plan(read_plan(value)[0]), limit)


def recovered_chain(count, **recovery):
    """Return a chain in which every step may fail, and has its own recovery."""
    steps = []
    for number in range(count):
        steps.append(
            step(
                f"s{number:02}",
                f"t{number}",
                f"t{number + 1}",
                after=f"s{number - 1:02}" if number else "",
                on_failure="continue",
                failure_effects=f"f{number}",
            )
        )
        steps.append(step(f"r{number:02}", f"f{number}", f"t{number + 1}", after=f"s{number:02}", **recovery))
    return plan(*steps, start="t0", goal=f"t{count}")


def test_fifty_recovered_failures_do_not_multiply():
    """2^50 histories lead to a few configurations for each step, and the verdict is exact."""
    exploration = explore_json(recovered_chain(50))
    assert exploration.complete
    assert exploration.assurance == "strong"
    assert exploration.escalations == tuple(f"r{number:02}" for number in range(50))
    assert exploration.explored < 400


def test_fifty_recoveries_that_may_fail_silently_are_fifty_dead_ends_or_more():
    exploration = explore_json(recovered_chain(50, on_failure="continue"))
    assert exploration.assurance == "weak"
    assert exploration.dead_ends[0].trace == ("s00:fail", "r00:fail")
    assert {end.trace[-1] for end in exploration.dead_ends} == {f"r{number:02}:fail" for number in range(50)}


def test_fifty_recoveries_that_go_back_do_not_multiply():
    """Each recovery deletes its token, and goes back to its step if it fails itself."""
    steps = recovered_chain(50)["steps"]
    for recovery in steps[1::2]:
        mark = recovery["preconditions"]
        back = "s" + recovery["step_id"][1:]
        recovery |= {"delete_effects": mark, "failure_delete_effects": mark, "on_failure": back}
    exploration = explore_json(plan(*steps, start="t0", goal="t50"))
    assert exploration.assurance == "strong_cyclic"
    assert exploration.explored < 400


def test_recoveries_that_can_wait_do_not_multiply():
    """If the chain does not wait for the recoveries, only one order of them is explored."""
    count = 50
    steps = []
    for number in range(count):
        after = f"s{number - 1:02}" if number else ""
        steps.append(
            step(f"s{number:02}", "", f"x{number}", after=after, on_failure="continue", failure_effects=f"f{number}")
        )
        steps.append(step(f"r{number:02}", f"f{number}", f"x{number}", after=f"s{number:02}"))
    everything = [f"x{number}" for number in range(count)]
    exploration = explore_json(plan(*steps, step("end", everything, "goal", after=f"s{count - 1:02}")))
    assert exploration.assurance == "strong"
    assert exploration.explored < 400


def test_independent_steps_are_not_tried_in_every_order():
    """Thirty independent steps have 2^30 configurations; one order is enough."""
    exploration = explore_json(
        plan(*(step(f"s{number:02}", "start", f"x{number}") for number in range(30)), goal="x3 x7")
    )
    assert exploration.assurance == "strong"
    assert exploration.explored == 31


def test_orders_that_an_invariant_can_tell_apart_are_all_tried():
    """For two independent steps the bad order is found, whichever step is listed first."""
    for first, second in (("a", "b"), ("b", "a")):
        value = plan(
            step(first, "start", "opened"),
            step(second, "start", "goal"),
            invariants=[{"when": ["opened"], "must": ["goal"], "must_not": []}],
        )
        assert explore_json(value).broken == {0: BrokenInvariant((f"{first}:ok",), ("goal",), ())}


def test_steps_that_are_redone_are_not_overlooked():
    """If the failure of one step can make another pending again, both orders are explored."""
    value = plan(
        step("a", "start", "go"),
        step("b", "go", "x", after="a", delete_effects="go"),
        step("c", "", "goal", after="a", on_failure="a", failure_delete_effects="x"),
        goal="x goal",
    )
    plan_value = read_plan(value)[0]
    walk, exploration = Walk(plan_value), explore(compile_plan(plan_value), 1000)
    assert (exploration.assurance, bool(exploration.dead_ends), exploration.loop is not None) == (
        walk.assurance,
        bool(walk.dead_ends),
        walk.loops(),
    )
