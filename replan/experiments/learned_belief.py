"""Learns the belief of an arm from simulated runs of its world, as `replan tune belief` does from those of a home."""

from collections import Counter
from dataclasses import replace

from replan.experiments.simulation import LabSetup, simulate_run
from replan.learning.belief_estimate import TrainingCase, learned_shares
from replan.learning.belief_runs import Recorded, recorded

FIRST_SEED = 100_000_000
"""The seed of the first run that is learned from; experiments use smaller ones."""


def with_learned_belief(setup: LabSetup, problem: str, count: int) -> LabSetup:
    """Return a setup whose policy has the shares of causes and of kinds of author that so many runs suggest."""
    policy = setup.pinned.policy
    assert policy.belief is not None
    cases = Counter[TrainingCase]()
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        found = recorded(simulate_run(setup, problem, seed)[1], policy)
        if isinstance(found, Recorded):
            cases[found.case] += 1
    table = learned_shares(cases, policy.belief)
    return replace(setup, pinned=setup.pinned.changed(policy=policy.model_copy(update={"belief": table})))
