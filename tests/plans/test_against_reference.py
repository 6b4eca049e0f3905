"""The criterion and the exploration agree exactly with slow and simple readings of the specification."""

import random

from hypothesis import given, settings

from actors.plans.contingency import contingent_steps
from actors.plans.exploration import explore
from actors.plans.graph import order_of
from actors.plans.nominal import NominalRun
from actors.plans.semantics import compile_plan, replay
from tests.plans.reference import Walk, possibly_false
from tests.plans.strategies import going_back_plan, plans, policies


@settings(max_examples=200, deadline=None)
@given(plans(steps_max=6, failures=False, invariants=False))
def test_modal_truth_agrees_with_all_linearisations(plan):
    """A token is unmet before a step, or at the end, iff it is false there in some order."""
    criterion_agrees(plan)


def test_modal_truth_agrees_with_all_linearisations_of_many_plans():
    """The same for 400 seeded plans."""
    for seed in range(400):
        criterion_agrees(going_back_plan(random.Random(seed)))


def criterion_agrees(plan):
    """Compare the criterion with every order, taking all steps as nominal."""
    order = order_of(plan)
    run = NominalRun(plan, order, frozenset())
    found = {order.steps[index].step_id: {one.token for one in run.unmet_before(index)} for index in run.indices}
    found[None] = {one.token for one in run.unmet_at_end()}
    assert {one: unmet for one, unmet in found.items() if unmet} == possibly_false(plan, plan.steps)


@settings(max_examples=150, deadline=None)
@given(plans(steps_max=5, invariants=False))
def test_the_nominal_run_leaves_contingent_steps_out(plan):
    """The same holds for the nominal steps alone, when some steps only run after a failure."""
    order, contingent = order_of(plan), contingent_steps(plan)
    run = NominalRun(plan, order, contingent)
    nominal = [step for step in plan.steps if step.step_id not in contingent]
    if any(step.dependencies & contingent for step in nominal):
        return  # Such a step never starts in the nominal run; the guard rejects it for that.
    found = {order.steps[index].step_id: {one.token for one in run.unmet_before(index)} for index in run.indices}
    found[None] = {one.token for one in run.unmet_at_end()}
    expected = possibly_false(plan, nominal) if nominal else {None: plan.goal_state - plan.initial_state}
    assert {one: unmet for one, unmet in found.items() if unmet} == {
        one: unmet for one, unmet in expected.items() if unmet
    }


def agree(plan):
    """Compare an exploration with the walk over every configuration, and replay every trace it gives."""
    seen, walk = explore(compile_plan(plan), 100_000), Walk(plan)
    assert seen.complete
    assert seen.assurance == walk.assurance
    assert set(seen.escalations) == walk.escalations
    assert set(seen.broken) == walk.broken
    assert seen.succeeds == bool(walk.successes)
    assert bool(seen.dead_ends) == bool(walk.dead_ends)
    assert (seen.trap is not None) == bool(walk.trapped)
    assert (seen.loop is not None) == walk.loops()
    assert seen.explored <= len(walk.edges)
    missing = {frozenset(plan.goal_state - now[1]) for now in walk.dead_ends}
    assert {frozenset(end.missing) for end in seen.dead_ends} == missing
    for end in seen.dead_ends:
        then = replay(plan, end.trace)
        assert then.end == "dead_end"
        assert plan.goal_state - then.tokens == set(end.missing)
    for index, trace in seen.broken.items():
        rule, holds = plan.invariants[index], replay(plan, trace).tokens
        assert rule.when <= holds
        assert not (rule.must <= holds and rule.must_not.isdisjoint(holds))
    for trace in (seen.loop, seen.trap):
        if trace is not None:
            replay(plan, trace)


@settings(max_examples=400, deadline=None)
@given(plans(steps_max=5))
def test_exploring_a_plan_agrees_with_walking_every_configuration(plan):
    """Merged configurations and left-out orders change nothing that is reported."""
    agree(plan)


@settings(max_examples=150, deadline=None)
@given(policies())
def test_exploring_a_policy_agrees_with_walking_every_configuration(policy):
    """The same for steps that may run any number of times."""
    agree(policy)


def test_exploring_plans_that_go_back_agrees_with_walking_every_configuration():
    """Going back undoes what the reduction relies on most; 400 seeded plans that do little else."""
    for seed in range(400):
        agree(going_back_plan(random.Random(seed)))
