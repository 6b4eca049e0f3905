"""Closed forms: where the success of a search can be computed, the laboratory's 99 % interval contains it."""

import os
from dataclasses import replace
from functools import partial
from math import log

import pytest

from replan_lab.simulated.profile import LEVELS

TRIALS = int(os.environ.get("REPLAN_TRIALS", "50"))
"""Trials in each comparison; `make soak` has a thousand."""


def mean(profile, value):
    """Return the mean of a function of the difficulty, integrated over its logarithm, where it is smooth."""
    from scipy.integrate import quad
    from scipy.stats import beta

    difficulty = beta(profile.odds.alpha, profile.odds.beta)
    return quad(
        lambda at: (
            value(1 / (1 + 2.718281828459045**-at))
            * difficulty.pdf(p := 1 / (1 + 2.718281828459045**-at))
            * p
            * (1 - p)
        ),
        log(1e-9),
        12,
        limit=400,
    )[0]


def lifted(profile, level, told, difficulty):
    """Return the probability of an attempt at a hard level, by the formula of the methods page."""
    odds = profile.odds
    lift = odds.first * odds.further ** (min(told, 5) - 1) if told else 1.0
    ratio = difficulty / (1 - difficulty) * lift ** profile.heeds.get(level, profile.heeds["other"])
    return ratio / (1 + ratio)


def dialogue(profile, level, attempts, difficulty):
    """Return the success of attempts at the whole plan, each with all rejections before it.

    A rejection names the level only if all levels above it were right by chance.
    """
    place, above = LEVELS.index(level), profile.easy
    at, solved = {0: 1.0}, 0.0
    for _ in range(attempts):
        after = {}
        for told, share in at.items():
            chance = lifted(profile, level, told, difficulty)
            named = above**place * (1 - chance)
            right = above ** (len(LEVELS) - 1) * chance
            solved += share * right
            after[told + 1] = after.get(told + 1, 0.0) + share * named
            after[told] = after.get(told, 0.0) + share * (1 - named - right)
        at = after
    return solved


def by_cause(profile, value):
    """Return the mean over causes and difficulties of `value(level, difficulty)`."""
    return sum(profile.causes[level] * mean(profile, partial(value, level)) for level in LEVELS)


def samples(profile, count):
    """Return the success of independent samples of the whole pipeline."""
    others = profile.easy ** (len(LEVELS) - 1)
    return by_cause(profile, lambda _, difficulty: 1 - (1 - others * difficulty) ** count)


CASES = {
    "linear": ({"workflow": "linear"}, lambda profile: samples(profile, 1)),
    "best_of": ({"workflow": "linear", "search": "best_of:4"}, lambda profile: samples(profile, 4)),
    "restart": ({"workflow": "linear", "search": "restart:5"}, lambda profile: samples(profile, 5)),
    "single": (
        {"workflow": "single"},
        lambda profile: by_cause(profile, lambda level, p: dialogue(profile, level, 3, p)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_success_is_the_exact_value(prepared, case):
    pipeline, exact = CASES[case]
    experiment = prepared(pipelines=[{"name": "mine", **pipeline}], searches=None, baseline="mine")
    arm = experiment.arms[0]
    profile = arm.profile.model_copy(update={"malformed": 0.0})
    arm = replace(arm, profile=profile)
    hits = sum(arm.lab_trial(experiment.problems[0], seed).solved for seed in range(TRIALS))
    from scipy.stats import binomtest

    low, high = binomtest(hits, TRIALS).proportion_ci(0.99, "wilson")
    assert low < exact(profile) < high, (hits / TRIALS, exact(profile))
