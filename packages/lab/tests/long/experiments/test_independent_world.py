"""The laboratory and a second simulation of the same world agree, with each feature of the world switched on alone."""

import os
from dataclasses import replace
from statistics import fmean, stdev

import pytest
import yaml

from packages.lab.tests.experiments.independent_world import LEVELS, Parameters, simulate

TRIALS = int(os.environ.get("REPLAN_TRIALS", "20"))
"""Trials of the laboratory in each comparison; `make soak` has a thousand."""
REFERENCE = 50 * TRIALS
"""Trials of the second simulation; its own error is counted too."""
WIDTH = 3.3
"""Standard errors within which the two agree: one comparison in a thousand would miss by chance."""

FEATURES = {
    "plain": {},
    "back_to_analysis": {"target": "analysis"},
    "several_causes": {"also_hard": 0.3},
    "misattributed": {"misattributed": 0.4},
    "deaf": {"heeds": {"other": 0.0}},
    "lift_full": {"heeds": {"other": 1.0}},
    "less_sure": {"easy": 0.8},
    "harmful_memory": {"odds": {"alpha": 2.0, "beta": 8.0, "first": 3.0, "further": 0.5}},
    "malformed": {"malformed": 0.2},
    "errors_per_attempt": {"false_accept": 0.2, "false_reject": 0.2},
    "errors_per_problem": {"accepting_problems": 0.2, "rejecting_problems": 0.2},
}
FILTERED = ("false_accept", "false_reject", "accepting_problems", "rejecting_problems")


@pytest.fixture
def arm(prepared, tmp_path):
    """Prepare an arm that goes back to one step after each rejected plan, with profile values changed."""

    def prepared_arm(changes):
        changes = dict(changes)
        target, filtered = changes.pop("target", "strategy"), {k: changes.pop(k) for k in FILTERED if k in changes}
        policy = {
            "name": "back",
            "description": "Always back to one step.",
            "rows": [
                {"id": "cut", "why": "w", "codes": ["reply.*"], "level": "local_retry"},
                {"id": "back", "why": "w", "level": "partial_replan", "target": f"role {target}", "codes": ["plan.*"]},
                {"id": "otherwise", "why": "w", "level": "local_retry"},
            ],
        }
        (tmp_path / "back.yaml").write_text(yaml.safe_dump(policy))
        steps = {f"g_{level}": {"rmax": 20, "backtrack_budget": 20} for level in LEVELS[:3]} | {"g_plan": {"rmax": 20}}
        pipeline = {"name": "mine", "workflow": "linear", "policy": "back.yaml", "steps": steps, **filtered}
        experiment = prepared(
            pipelines=[pipeline], searches=["depth_first"], baseline="mine", max_calls=Parameters.calls
        )
        found = experiment.arms[0]
        profile = found.profile.model_validate(found.profile.model_dump() | {"malformed": 0.0} | changes)
        return replace(found, profile=profile), experiment.problems[0], profile, target, filtered

    return prepared_arm


@pytest.mark.parametrize("feature", FEATURES)
def test_the_laboratory_agrees_with_a_second_simulation(arm, feature):
    """In the share of successes and in the mean number of calls."""
    prepared_arm, problem, profile, target, filtered = arm(FEATURES[feature])
    trials = [prepared_arm.lab_trial(problem, seed) for seed in range(TRIALS)]
    odds = profile.odds
    world = Parameters(
        causes=dict(profile.causes),
        alpha=odds.alpha,
        beta=odds.beta,
        first=odds.first,
        further=odds.further,
        heeds={level: profile.heeds.get(level, profile.heeds["other"]) for level in LEVELS},
        easy=profile.easy,
        also_hard=profile.also_hard,
        misattributed=profile.misattributed,
        malformed=profile.malformed,
        target=target,
        **filtered,
    )
    success, calls = simulate(world, REFERENCE, seed=7)
    for simulated, reference in (([t.solved for t in trials], success), ([t.calls for t in trials], calls)):
        values = [float(value) for value in simulated]
        assert abs(fmean(values) - reference) < WIDTH * stdev(values) * (1 / TRIALS + 1 / REFERENCE) ** 0.5, (
            fmean(values),
            reference,
        )
