"""plan_expansive: dead ends, invariants and assurance over all traces, and what it says about them."""

import pytest

from actors.plans.reader import read_plan
from actors.plans.semantics import replay
from tests.plans.build import errors, judge, plan, step, warnings

RECOVERED = plan(
    step("build", "start", "built", on_failure="continue", failure_effects="broken"),
    step("mend", "broken", "built", after="build"),
    step("ship", "built", "goal", after="build"),
)
SILENT = plan(step("build", "start", "built", on_failure="continue"), step("ship", "built", "goal", after="build"))
RETRIED = plan(step("a", "start", "goal", on_failure="a"))
GAMBLE = plan(
    step(
        "try",
        "start",
        "goal",
        delete_effects="start",
        failure_delete_effects="start",
        repeatable=True,
        on_failure="continue",
    )
)


def test_a_recovered_plan_is_strong_and_says_who_may_be_called():
    """Whoever escalates is listed."""
    found = judge("expansive", RECOVERED)
    assert (found.passed, found.facts["assurance"], found.facts["escalations"]) == (True, "strong", ["mend", "ship"])


def test_a_silent_failure_is_a_dead_end_with_a_trace_that_replays_to_it():
    """The message names the step, what is missing, and what to do."""
    found = judge("expansive", SILENT)
    assert errors(found) == [("plan.dead_end", "build")]
    one = found.errors[0]
    assert (one.trace, one.tokens) == (("build:fail",), ("goal",))
    assert replay(read_plan(SILENT)[0], one.trace).end == "dead_end"
    assert "ship waits for 'built'" in one.message
    assert "set on_failure of build to escalate" in one.message
    assert found.facts["assurance"] == "weak"


def test_a_loop_needs_fairness():
    """Good enough by default; not when strong is asked for, and then the loop is shown."""
    assert judge("expansive", RETRIED).passed
    found = judge("expansive", RETRIED, assurance="strong")
    assert errors(found) == [("plan.assurance_too_low", "a")]
    assert found.errors[0].trace == ("a:fail",)
    assert found.facts["assurance"] == "strong_cyclic"


def test_weak_allows_dead_ends_with_a_warning():
    """That is what weak means."""
    assert errors(judge("expansive", GAMBLE)) == [("plan.dead_end", "try")]
    found = judge("expansive", GAMBLE, assurance="weak")
    assert found.passed
    assert warnings(found) == [("plan.dead_end", "try")]


def test_a_policy_that_may_run_for_ever_is_a_dead_end():
    """After the failure two steps undo each other, and nobody is called."""

    def move(step_id, needs, makes, **fields):
        return step(step_id, needs, makes, delete_effects=needs, repeatable=True, **fields)

    value = plan(
        move("a", "start", "goal", on_failure="continue", failure_effects="x", failure_delete_effects="start"),
        move("b", "x", "y", on_failure="never"),
        move("c", "y", "x", on_failure="never"),
    )
    found = judge("expansive", value)
    assert errors(found) == [("plan.dead_end", "a")]
    assert found.errors[0].trace == ("a:fail",)
    assert "goes on for ever" in found.errors[0].message


def test_a_broken_invariant_has_the_trace_that_breaks_it():
    """Also one that only a failure breaks."""
    value = plan(
        step("a", "start", "goal", failure_effects="alarm"),
        invariants=[{"when": ["alarm"], "must": ["guarded"], "must_not": []}],
    )
    found = judge("expansive", value)
    assert errors(found) == [("plan.invariant_broken", "a")]
    assert (found.errors[0].trace, found.errors[0].tokens) == (("a:fail",), ("guarded",))


def test_an_invariant_that_is_broken_at_the_start_has_an_empty_trace():
    """The initial state is a reachable state."""
    value = plan(step("a", "start", "goal"), invariants=[{"must_not": ["start"]}])
    one = judge("expansive", value).errors[0]
    assert (one.where, one.trace) == ("invariants[0]", ())


def test_at_the_cap_a_plan_is_not_verified():
    """Never valid, and no assurance."""
    found = judge("expansive", RECOVERED, max_explorations=2)
    assert errors(found) == [("plan.too_complex", "")]
    assert (found.facts["assurance"], found.facts["explored"]) == (None, 2)


def test_a_plan_whose_nominal_run_fails_is_not_explored():
    """First things first: its traces would only repeat what is wrong."""
    found = judge("expansive", plan(step("a", "nothing", "goal", on_failure="continue")))
    assert errors(found) == [("plan.precondition_unsatisfied", "a")]
    assert found.facts["assurance"] is None


def test_several_dead_ends_are_reported_by_the_step_that_causes_them():
    """At most five, the nearest first."""
    steps = [
        step(f"s{one}", f"t{one}", f"t{one + 1}", after=f"s{one - 1}" if one else "", on_failure="continue")
        for one in range(8)
    ]
    found = judge("expansive", plan(*steps, start="t0", goal="t8"))
    assert errors(found) == [("plan.dead_end", f"s{one}") for one in range(5)]


@pytest.mark.parametrize("required", ["none", "weak", "strong_cyclic", "strong"])
def test_a_strong_plan_passes_whatever_is_required(required):
    """Strong is the strongest."""
    assert judge("expansive", RECOVERED, assurance=required).passed
