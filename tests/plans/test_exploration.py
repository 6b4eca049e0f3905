"""Exploring all traces: what is merged, what is left out, and what must not be."""

from actors.plans.exploration import explore
from actors.plans.reader import read_plan
from actors.plans.semantics import compile_plan
from tests.plans.build import plan, step
from tests.plans.reference import Walk


def look(value, limit=100_000):
    """Explore a plan given as JSON."""
    return explore(compile_plan(read_plan(value)[0]), limit)


def recovered_chain(count, **recovery):
    """Each step may fail and go on, and has its own recovery."""
    steps = []
    for one in range(count):
        steps.append(
            step(
                f"s{one:02}",
                f"t{one}",
                f"t{one + 1}",
                after=f"s{one - 1:02}" if one else "",
                on_failure="continue",
                failure_effects=f"f{one}",
            )
        )
        steps.append(step(f"r{one:02}", f"f{one}", f"t{one + 1}", after=f"s{one:02}", **recovery))
    return plan(*steps, start="t0", goal=f"t{count}")


def test_fifty_recovered_failures_do_not_multiply():
    """2^50 histories lead to a few configurations for each step, and the verdict is exact."""
    seen = look(recovered_chain(50))
    assert seen.complete
    assert seen.assurance == "strong"
    assert seen.escalations == tuple(f"r{one:02}" for one in range(50))
    assert seen.explored < 400


def test_fifty_recoveries_that_may_fail_silently_are_fifty_dead_ends_or_more():
    """Each one is found, the shortest trace first."""
    seen = look(recovered_chain(50, on_failure="continue"))
    assert seen.assurance == "weak"
    assert seen.dead_ends[0].trace == ("s00:fail", "r00:fail")
    assert {end.trace[-1] for end in seen.dead_ends} == {f"r{one:02}:fail" for one in range(50)}


def test_fifty_recoveries_that_go_back_do_not_multiply():
    """A recovery that clears its mark, and tries the step again if it fails itself."""
    steps = recovered_chain(50)["steps"]
    for one in steps[1::2]:
        mark = one["preconditions"]
        one |= {"delete_effects": mark, "failure_delete_effects": mark, "on_failure": "s" + one["step_id"][1:]}
    seen = look(plan(*steps, start="t0", goal="t50"))
    assert seen.assurance == "strong_cyclic"
    assert seen.explored < 400


def test_recoveries_that_can_wait_do_not_multiply():
    """When the chain does not wait for the recoveries, their order makes no difference, and only one is tried."""
    count = 50
    steps = []
    for one in range(count):
        after = f"s{one - 1:02}" if one else ""
        steps.append(step(f"s{one:02}", "", f"x{one}", after=after, on_failure="continue", failure_effects=f"f{one}"))
        steps.append(step(f"r{one:02}", f"f{one}", f"x{one}", after=f"s{one:02}"))
    everything = [f"x{one}" for one in range(count)]
    seen = look(plan(*steps, step("end", everything, "goal", after=f"s{count - 1:02}")))
    assert seen.assurance == "strong"
    assert seen.explored < 400


def test_independent_steps_are_not_tried_in_every_order():
    """Thirty of them have 2^30 configurations; one order is enough."""
    seen = look(plan(*(step(f"s{one:02}", "start", f"x{one}") for one in range(30)), goal="x3 x7"))
    assert seen.assurance == "strong"
    assert seen.explored == 31


def test_orders_that_an_invariant_can_tell_apart_are_all_tried():
    """Two independent steps; whichever of them is listed first, the bad order is found."""
    for first, second in (("a", "b"), ("b", "a")):
        value = plan(
            step(first, "start", "opened"),
            step(second, "start", "goal"),
            invariants=[{"when": ["opened"], "must": ["goal"], "must_not": []}],
        )
        assert look(value).broken == {0: (f"{first}:ok",)}


def test_steps_that_are_redone_are_not_overlooked():
    """A step that another one's going back can make pending again is a reason to try both orders."""
    value = plan(
        step("a", "start", "go"),
        step("b", "go", "x", after="a", delete_effects="go"),
        step("c", "", "goal", after="a", on_failure="a", failure_delete_effects="x"),
        goal="x goal",
    )
    read = read_plan(value)[0]
    walk, seen = Walk(read), explore(compile_plan(read), 1000)
    assert (seen.assurance, bool(seen.dead_ends), seen.loop is not None) == (
        walk.assurance,
        bool(walk.dead_ends),
        walk.loops(),
    )


def test_a_retry_loop_is_strong_cyclic():
    """Going back to oneself never ends, unless the tries are fair; a spent budget hands over."""
    seen = look(plan(step("a", "start", "goal", on_failure="a")))
    assert seen.assurance == "strong_cyclic"
    assert seen.loop == ("a:fail",)
    assert seen.escalations == ("a",)


def test_a_policy_that_never_ends_is_a_trap():
    """Two steps that undo each other, with nobody in charge."""
    value = plan(
        step("a", "x", "y", delete_effects="x", repeatable=True, on_failure="never"),
        step("b", "y", "x", delete_effects="y", repeatable=True, on_failure="never"),
        start="x",
        goal="z",
    )
    seen = look(value)
    assert (seen.assurance, seen.trap, seen.dead_ends) == ("none", (), [])


def test_at_the_cap_nothing_is_assured():
    """An exploration that was cut short says so, and says no more."""
    seen = look(recovered_chain(20), limit=10)
    assert (seen.complete, seen.assurance, seen.explored) == (False, None, 10)
