"""`plan_expansive`: dead ends, invariants and assurance over all traces, and the findings about them."""

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


def test_a_recovered_plan_is_strong_and_lists_its_escalations():
    verdict = judge("expansive", RECOVERED)
    assert (verdict.passed, verdict.facts["assurance"], verdict.facts["escalations"]) == (
        True,
        "strong",
        ["mend", "ship"],
    )


def test_a_silent_failure_is_a_dead_end_with_a_trace_that_replays_to_it():
    verdict = judge("expansive", SILENT)
    assert errors(verdict) == [("plan.dead_end", "build")]
    finding = verdict.errors[0]
    assert (finding.trace, finding.tokens) == (("build:fail",), ("goal",))
    assert replay(read_plan(SILENT)[0], finding.trace).end == "dead_end"
    assert "ship waits for 'built'" in finding.message
    assert "set on_failure of build to escalate" in finding.message
    assert verdict.facts["assurance"] == "weak"


def test_a_loop_needs_fairness():
    """`strong_cyclic` is enough by default; if `strong` is required, the finding has the loop as its trace."""
    assert judge("expansive", RETRIED).passed
    verdict = judge("expansive", RETRIED, assurance="strong")
    assert errors(verdict) == [("plan.assurance_too_low", "a")]
    assert verdict.errors[0].trace == ("a:fail",)
    assert verdict.facts["assurance"] == "strong_cyclic"


def test_weak_allows_dead_ends_with_a_warning():
    assert errors(judge("expansive", GAMBLE)) == [("plan.dead_end", "try")]
    verdict = judge("expansive", GAMBLE, assurance="weak")
    assert verdict.passed
    assert warnings(verdict) == [("plan.dead_end", "try")]


def test_a_policy_that_may_run_for_ever_is_a_dead_end():

    def move(step_id, needs, makes, **fields):
        return step(step_id, needs, makes, delete_effects=needs, repeatable=True, **fields)

    value = plan(
        move("a", "start", "goal", on_failure="continue", failure_effects="x", failure_delete_effects="start"),
        move("b", "x", "y", on_failure="never"),
        move("c", "y", "x", on_failure="never"),
    )
    verdict = judge("expansive", value)
    assert errors(verdict) == [("plan.dead_end", "a")]
    assert verdict.errors[0].trace == ("a:fail",)
    assert "never ends and never hands over" in verdict.errors[0].message


def test_a_broken_invariant_has_the_trace_that_breaks_it():
    value = plan(
        step("a", "start", "goal", failure_effects="alarm"),
        invariants=[{"when": ["alarm"], "must": ["guarded"], "must_not": []}],
    )
    verdict = judge("expansive", value)
    assert errors(verdict) == [("plan.invariant_broken", "a")]
    assert (verdict.errors[0].trace, verdict.errors[0].tokens) == (("a:fail",), ("guarded",))


def test_an_invariant_that_is_broken_at_the_start_has_an_empty_trace():
    value = plan(step("a", "start", "goal"), invariants=[{"must_not": ["start"]}])
    finding = judge("expansive", value).errors[0]
    assert (finding.where, finding.trace) == ("invariants[0]", ())


def test_at_the_cap_a_plan_is_not_verified():
    verdict = judge("expansive", RECOVERED, max_explorations=2)
    assert errors(verdict) == [("plan.too_complex", "")]
    assert (verdict.facts["assurance"], verdict.facts["explored"]) == (None, 2)


def test_a_plan_whose_nominal_run_fails_is_not_explored():
    verdict = judge("expansive", plan(step("a", "nothing", "goal", on_failure="continue")))
    assert errors(verdict) == [("plan.precondition_unsatisfied", "a")]
    assert verdict.facts["assurance"] is None


def test_several_dead_ends_are_reported_by_the_step_that_causes_them():
    steps = [
        step(
            f"s{number}",
            f"t{number}",
            f"t{number + 1}",
            after=f"s{number - 1}" if number else "",
            on_failure="continue",
        )
        for number in range(8)
    ]
    verdict = judge("expansive", plan(*steps, start="t0", goal="t8"))
    assert errors(verdict) == [("plan.dead_end", f"s{number}") for number in range(5)]


@pytest.mark.parametrize("required", ["none", "weak", "strong_cyclic", "strong"])
def test_a_strong_plan_passes_whatever_is_required(required):
    assert judge("expansive", RECOVERED, assurance=required).passed
