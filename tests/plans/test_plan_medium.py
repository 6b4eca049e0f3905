"""`plan_medium`: the nominal run, budgets, and steps without a purpose."""

import pytest

from tests.plans.build import errors, judge, plan, step, warnings


def first(value, **config):
    """Return the first error of medium, its step, its tokens and its message."""
    finding = judge("medium", value, **config).errors[0]
    return str(finding.code), finding.where, finding.tokens, finding.message


def test_a_token_that_no_step_makes_has_its_own_code():
    code, where, tokens, message = first(plan(step("a", "start magic", "goal")))
    assert (code, where, tokens) == ("plan.precondition_unsatisfied", "a", ("magic",))
    assert "'magic'" in message


def test_a_token_whose_maker_is_not_ordered_before_has_its_own_code():
    code, where, tokens, message = first(plan(step("a", "start", "x"), step("b", "x", "goal")))
    assert (code, where, tokens) == ("plan.precondition_unordered", "b", ("x",))
    assert "'x' by a" in message
    assert "Add a to the dependencies of b" in message


def test_a_maker_that_waits_for_its_user_is_not_proposed_as_a_dependency():
    value = plan(step("b", "x", "goal"), step("a", "start", "x", after="b"))
    code, where, _, message = first(value)
    assert (code, where) == ("plan.precondition_unordered", "b")
    assert "these steps wait for b" in message


def test_a_token_that_may_be_deleted_in_between_has_its_own_code():
    value = plan(
        step("a", "start", "x"),
        step("b", "x", "goal", after="a"),
        step("c", "start", "y", after="a", delete_effects="x"),
    )
    code, where, tokens, message = first(value)
    assert (code, where, tokens) == ("plan.precondition_deleted", "b", ("x",))
    assert "may be deleted before it starts: 'x' by c" in message


def test_a_step_in_between_that_makes_it_again_mends_a_deletion():
    value = plan(
        step("a", "start", "x"),
        step("c", "x", "y", after="a", delete_effects="x"),
        step("again", "y", "x", after="c"),
        step("b", "x", "goal", after="again"),
    )
    assert judge("medium", value).passed


def test_the_goal_is_judged_at_the_end():
    assert first(plan(step("a", "start", "x")))[:3] == ("plan.goal_unreachable", "goal_state", ("goal",))
    value = plan(step("a", "start", "goal"), step("b", "goal", "y", after="a", delete_effects="goal"))
    assert first(value)[:3] == ("plan.goal_deleted", "goal_state", ("goal",))


def test_the_first_failing_step_and_its_unmet_tokens_are_facts():
    early = judge(
        "medium", plan(step("b", "no1 no2", "x"), step("a", "no3", "y", after="b"), step("c", "start", "goal"))
    )
    assert early.facts["first_failing_step"] == "b"
    assert early.facts["unmet"] == ["no1", "no2"]
    late = judge(
        "medium", plan(step("a", "start", "x"), step("b", "x", "y", after="a"), step("c", "no", "goal", after="b"))
    )
    assert late.facts["first_failing_step"] == "c"
    assert early.score < late.score < 1


def test_a_plan_that_only_misses_the_goal_has_no_failing_step():
    facts = judge("medium", plan(step("a", "start", "x"))).facts
    assert (facts["first_failing_step"], facts["unmet"], facts["assurance"]) == (None, ["goal"], None)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"start": ""}, "plan.initial_undefined"),
        ({"goal": ""}, "plan.goal_undefined"),
        ({"total_retry_budget": 1}, "plan.budget_over_total"),
        ({"total_retry_budget": 101}, "plan.budget_over_r_max"),
    ],
)
def test_states_and_budgets_must_make_sense(fields, code):
    value = plan(step("a", "", "x"), step("b", "x", "goal", after="a"), **fields)
    assert [reported for reported, _ in errors(judge("medium", value))] == [code]


def test_r_max_can_be_raised():
    assert judge("medium", plan(step("a", "start", "goal"), total_retry_budget=500), r_max=500).passed


RECOVERY = step("mend", "broken", "x")


@pytest.mark.parametrize("word", ["continue", "a"])
def test_a_contingent_step_takes_no_part_in_the_nominal_run(word):
    value = plan(
        step("a", "start", "x", on_failure=word, failure_effects="broken"), RECOVERY, step("b", "x", "goal", after="a")
    )
    assert judge("medium", value).findings == ()


@pytest.mark.parametrize("word", ["escalate", "never"])
def test_a_contingent_step_must_be_reachable_by_some_failure(word):
    value = plan(
        step("a", "start", "x", on_failure=word, failure_effects="broken"), RECOVERY, step("b", "x", "goal", after="a")
    )
    verdict = judge("medium", value)
    assert errors(verdict) == [("plan.failure_unreachable", "mend")]
    assert "Set on_failure of a to continue" in verdict.errors[0].message


def test_a_token_that_only_a_failure_makes_cannot_be_the_goal():
    value = plan(step("a", "start", "x", on_failure="continue", failure_effects="goal"))
    code, where, _, message = first(value)
    assert (code, where) == ("plan.goal_unreachable", "goal_state")
    assert "a makes it only after a failure" in message


def test_a_step_must_not_depend_on_a_recovery():
    value = plan(
        step("a", "start", "x", on_failure="continue", failure_effects="broken"),
        RECOVERY,
        step("b", "x", "goal", after="a mend"),
    )
    assert errors(judge("medium", value)) == [("plan.blocked_dependency", "b")]


def test_contingent_is_a_least_fixpoint():
    value = plan(
        step("a", "start", "goal", on_failure="continue", failure_effects="broken"),
        step("look", "broken", "seen"),
        step("mend", "seen", "goal"),
    )
    assert judge("medium", value).passed


def test_an_orphan_is_a_warning():
    value = plan(step("a", "start", "goal"), step("b", "start", "x"), step("c", "x", "y", after="b"))
    verdict = judge("medium", value)
    assert verdict.passed
    assert warnings(verdict) == [("plan.orphan_step", "b"), ("plan.orphan_step", "c")]


def test_a_redundant_step_is_a_warning():
    value = plan(step("a", "start", "x"), step("b", "x", "x", after="a"), step("c", "x", "goal", after="b"))
    verdict = judge("medium", value)
    assert verdict.passed
    assert warnings(verdict) == [("plan.redundant_step", "b")]


def test_a_policy_needs_some_trace_to_the_goal():
    good = plan(step("a", "start", "goal", delete_effects="start", repeatable=True, on_failure="continue"))
    assert judge("medium", good).passed
    bad = plan(step("a", "start", "x", delete_effects="start", repeatable=True))
    verdict = judge("medium", bad)
    assert errors(verdict) == [("plan.goal_unreachable", "goal_state")]
    assert verdict.facts["unmet"] == ["goal"]


def test_a_policy_that_stays_ready_for_ever_never_succeeds():
    verdict = judge("medium", plan(step("a", "start", "goal", repeatable=True)))
    assert errors(verdict) == [("plan.goal_unreachable", "goal_state")]
    assert "a step is always ready" in verdict.errors[0].message


def test_a_policy_that_is_too_large_is_not_verified():
    value = plan(
        step("a", "start", "x", delete_effects="start", repeatable=True),
        step("b", "x", "goal", delete_effects="x", repeatable=True),
    )
    assert errors(judge("medium", value, max_explorations=1)) == [("plan.too_complex", "goal_state")]
