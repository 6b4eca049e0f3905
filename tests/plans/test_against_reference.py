"""The criterion and the exploration agree exactly with slow and simple implementations of the specification."""

import random

from hypothesis import given

from actors.plans.exploration import explore
from actors.plans.graph import contingent_steps, order_of
from actors.plans.nominal import NominalRun
from actors.plans.semantics import compile_plan, replay
from tests.plans.reference import Walk, possibly_false
from tests.plans.strategies import branching_plan, going_back_plan, plans, policies
from tests.support.examples import examples


@examples(200)
@given(plans(steps_max=6, failures=False, invariants=False))
def test_modal_truth_agrees_with_all_linearisations(plan):
    """A token is unmet before a step, or at the end, iff it is false there in some order."""
    criterion_agrees(plan)


def test_modal_truth_agrees_with_all_linearisations_of_many_plans():
    for seed in range(200):
        criterion_agrees(going_back_plan(random.Random(seed)))


def tokens_of(unmet):
    return {condition.token for condition in unmet}


def criterion_agrees(plan):
    """Compare the criterion with every order, taking all steps as nominal."""
    order = order_of(plan)
    run = NominalRun(plan, order, frozenset())
    unmet = {order.steps[index].step_id: tokens_of(run.unmet_before(index)) for index in run.indices}
    unmet[None] = tokens_of(run.unmet_at_end())
    assert {step_id: tokens for step_id, tokens in unmet.items() if tokens} == possibly_false(plan, plan.steps)


@examples(150)
@given(plans(steps_max=5, invariants=False))
def test_the_nominal_run_leaves_contingent_steps_out(plan):
    """The criterion agrees for the nominal steps of a plan with contingent steps, too."""
    order, contingent = order_of(plan), contingent_steps(plan)
    run = NominalRun(plan, order, contingent)
    nominal = [step for step in plan.steps if step.step_id not in contingent]
    if any(step.dependencies & contingent for step in nominal):
        return  # Such a step never starts in the nominal run; the guard rejects it for that.
    unmet = {order.steps[index].step_id: tokens_of(run.unmet_before(index)) for index in run.indices}
    unmet[None] = tokens_of(run.unmet_at_end())
    expected = possibly_false(plan, nominal) if nominal else {None: plan.goal_state - plan.initial_state}
    assert {step_id: tokens for step_id, tokens in unmet.items() if tokens} == {
        step_id: tokens for step_id, tokens in expected.items() if tokens
    }


def check_agreement(plan):
    """Compare an exploration with the walk over every configuration, and replay every reported trace."""
    exploration, walk = explore(compile_plan(plan), 100_000), Walk(plan)
    assert exploration.complete
    assert exploration.assurance == walk.assurance
    assert set(exploration.escalations) == walk.escalations
    assert set(exploration.broken) == walk.broken
    assert exploration.succeeds == bool(walk.successes)
    assert bool(exploration.dead_ends) == bool(walk.dead_ends)
    assert (exploration.trap is not None) == bool(walk.trapped)
    assert (exploration.loop is not None) == walk.loops()
    assert exploration.explored <= len(walk.edges)
    missing = {frozenset(plan.goal_state - now[1]) for now in walk.dead_ends}
    assert {frozenset(end.missing) for end in exploration.dead_ends} == missing
    for end in exploration.dead_ends:
        result = replay(plan, end.trace)
        assert result.end == "dead_end"
        assert plan.goal_state - result.tokens == set(end.missing)
    for index, broken in exploration.broken.items():
        invariant, tokens = plan.invariants[index], replay(plan, broken.trace).tokens
        assert set(broken.missing) == invariant.must - tokens
        assert set(broken.wrong) == invariant.must_not & tokens
        assert invariant.when <= tokens
        assert not (invariant.must <= tokens and invariant.must_not.isdisjoint(tokens))
    for trace in (exploration.loop, exploration.trap):
        if trace is not None:
            replay(plan, trace)


@examples(150)
@given(plans(steps_max=5))
def test_exploring_a_plan_agrees_with_walking_every_configuration(plan):
    """Merged configurations and unexplored interleavings do not change the result."""
    check_agreement(plan)


@examples(150)
@given(policies())
def test_exploring_a_policy_agrees_with_walking_every_configuration(policy):
    check_agreement(policy)


def test_exploring_plans_that_go_back_agrees_with_walking_every_configuration():
    """200 seeded plans in which most failures go back, the hardest case for the reduction."""
    for seed in range(200):
        check_agreement(going_back_plan(random.Random(seed)))


def test_exploring_plans_with_outcomes_agrees_with_walking_every_configuration():
    """200 seeded plans in which most failures go back and most steps have outcomes."""
    for seed in range(200):
        check_agreement(branching_plan(random.Random(seed)))
