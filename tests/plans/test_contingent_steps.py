"""`plan_medium` accepts a plan exactly if its nominal run is valid and each contingent step runs on some trace.

Random plans are compared with slow and simple implementations of that sentence. 300 plans by default; a soak sets
`REPLAN_PLANS`.
"""

import os
import random

import pytest

from actors.plans.graph import contingent_steps
from actors.plans.reader import read_plan
from actors.values.findings import Code
from tests.plans.build import errors, judge, plan, step, warnings
from tests.plans.reference import Walk, possibly_false

PLANS = int(os.environ.get("REPLAN_PLANS", "300"))
BATCHES = 10
TOKENS, MARKS = ("a", "b", "c"), ("f", "g")
"""What steps make, and what only failures make."""


def random_plan(chance):
    """Return the JSON of a plan of two to five steps, of which some wait for marks of failures."""

    def some(tokens, likely):
        return [token for token in tokens if chance.random() < likely]

    steps, above = [], []
    for number in range(chance.randint(2, 5)):
        waits = number > 0 and chance.random() < 0.45
        after = [before for before in range(number) if chance.random() < 0.35]
        above.append({number}.union(*(above[before] for before in after)))
        words = ["continue", "continue", "continue", "never", "escalate", "s0" if 0 in above[number] else "continue"]
        steps.append(
            step(
                f"s{number}",
                needs=(some(MARKS, 0.6) or ["f"]) + some(TOKENS, 0.1) if waits else some("ab", 0.25),
                makes=some(TOKENS, 0.4),
                after=[f"s{before}" for before in after],
                delete_effects=" ".join(some((*TOKENS, *MARKS), 0.12)),
                on_failure=chance.choice(words),
                failure_effects=" ".join(some(MARKS, 0.45)),
                failure_delete_effects=" ".join(some((*TOKENS, *MARKS), 0.08)),
            )
        )
    return plan(*steps, start=["a", *some("b", 0.5)], goal=chance.choice(TOKENS))


def contingent_by_definition(plan):
    """Return the contingent steps by the words of the definition, as a least fixpoint."""
    found, more = set(), True
    while more:
        more = {
            each.step_id
            for each in plan.steps
            for token in each.preconditions - plan.initial_state
            if each.step_id not in found and only_after_failures(plan, each, token, found)
        }
        found |= more
    return found


def only_after_failures(plan, user, token, contingent):
    """Whether a token has producers, and all are failures of steps other than its user, or contingent steps."""
    others = [each for each in plan.steps if each is not user]
    by_success = {each.step_id for each in others if token in each.effects}
    by_failure = {each.step_id for each in others if token in each.failure_effects}
    return bool(by_success | by_failure) and by_success <= contingent


def idle_steps(plan, contingent):
    """Return the contingent steps that no trace runs."""
    walk = Walk(plan)
    return contingent - {each.step_id for now in walk.edges for each in walk.ready(now)}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_medium_agrees_with_a_brute_force_on_random_plans(batch):
    """The contingent steps, the verdict and the steps that are said never to run agree for every random plan."""
    idle_plans = valid_plans = 0
    for seed in range(batch, PLANS, BATCHES):
        value = random_plan(random.Random(seed))
        parsed, _ = read_plan(value)
        contingent = contingent_by_definition(parsed)
        assert contingent_steps(parsed) == contingent, seed
        nominal = [each for each in parsed.steps if each.step_id not in contingent]
        blocked = any(each.dependencies & contingent for each in nominal)
        unmet = possibly_false(parsed, nominal) if nominal else parsed.goal_state - parsed.initial_state
        idle = idle_steps(parsed, contingent)
        verdict = judge("medium", value)
        assert verdict.passed == (not blocked and not unmet and not idle), (seed, verdict)
        assert verdict.passed or not judge("expansive", value).passed, seed
        if idle and not blocked and not unmet:
            idle_plans += 1
            assert {where for _, where in errors(verdict)} <= idle, (seed, verdict)
        valid_plans += verdict.passed and bool(contingent)
    assert idle_plans
    assert valid_plans


IDLE = plan(
    step("work", "start", "goal", on_failure="continue", failure_effects="broken", failure_delete_effects="start"),
    step("recover", "broken start", "goal", after="work"),
)
"""The failure of `work` makes the token that `recover` waits for, and deletes the one that it needs as well."""


@pytest.mark.parametrize("level", ["medium", "expansive"])
def test_a_recovery_whose_failure_deletes_what_it_needs_is_rejected(level):
    """The finding names the step that never runs, though each of its tokens holds on some trace."""
    verdict = judge(level, IDLE)
    assert (str(Code.FAILURE_UNREACHABLE), "recover") in errors(verdict)
    (finding,) = [found for found in verdict.findings if found.code == Code.FAILURE_UNREACHABLE]
    assert finding.message.startswith("step recover never runs: no trace of successes and failures reaches a point")


def test_medium_warns_where_its_bound_leaves_open_whether_a_step_runs():
    """At the bound of the exploration, medium does not reject the plan, and names the step it could not verify."""
    value = plan(
        step("work", "start", "goal", on_failure="continue", failure_effects="broken"),
        step("recover", "broken", "goal", after="work"),
    )
    assert judge("medium", value).findings == ()
    verdict = judge("medium", value, max_explorations=1)
    assert verdict.passed
    assert warnings(verdict) == [(str(Code.TOO_COMPLEX), "steps")]
    assert "no trace runs recover" in verdict.findings[0].message
