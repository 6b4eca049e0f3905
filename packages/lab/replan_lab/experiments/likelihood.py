"""The likelihood of recorded dialogues under a model of difficulty and feedback, its maximum, and posterior draws.

A record says how many calls a model made for one problem instance, and whether the last call solved the instance. The
difficulty p has a beta distribution. c(k, p) is the probability that call k succeeds. The odds of c(k, p) are the odds
of p, multiplied by the effect of k-1 rejections:

    P(solved at t) = E[c(t, p) * prod(1 - c(k, p) for k < t)], P(unsolved in T) = E[prod(1 - c(k, p) for k <= T)].

The expectation is a sum over the log-odds of p. The first and the last point of this grid also get the probability of
all values beyond them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]
from scipy.special import betainc, betaln  # type: ignore[import-untyped]

from replan_lab.simulated.profile import TOLD_MAX, AuthorOdds

_LOGITS = np.linspace(-30.0, 30.0, 301)
_LOG_P, _LOG_Q = -np.logaddexp(0.0, -_LOGITS), -np.logaddexp(0.0, _LOGITS)
_STEP = _LOGITS[1] - _LOGITS[0]
PRIOR_MEAN = np.array([0.0, 1.5, 0.0, 0.0])
"""The means of the prior distributions of the logarithms of four parameters: `alpha`, `beta`, `first` and `further`."""
PRIOR_SD = np.array([1.5, 1.5, 1.5, 0.5])
"""The standard deviations of the prior distributions of the logarithms of `alpha`, `beta`, `first` and `further`. With
95 % probability, `first` is between 1/19 and 19, and `further` between 1/2.7 and
2.7.
"""
BURN_IN, THIN = 500, 10
"""The number of steps that are dropped at the beginning of the Metropolis chain, and the number of steps from one draw
to the next.
"""
Vector = Any
"""A numpy vector of floats."""


@dataclass(frozen=True, slots=True)
class InstanceResult:
    """The number of calls for one problem instance, and whether the instance was solved."""

    calls: int
    """The number of calls, counted up to the call that solved the instance."""
    solved: bool


def _outcome_probabilities(logs: Vector, calls: int) -> tuple[Vector, Vector]:
    """Return the probabilities of the first success at call 1, 2, … `calls`, and of no success up to each call."""
    alpha, beta = np.exp(logs[:2])
    weights = np.exp(alpha * _LOG_P + beta * _LOG_Q - betaln(alpha, beta)) * _STEP
    weights[0] += betainc(alpha, beta, np.exp(_LOG_P[0]))
    weights[-1] += betainc(beta, alpha, np.exp(_LOG_Q[-1]))
    weights /= weights.sum()
    rejections = np.minimum(np.arange(calls), TOLD_MAX)
    lift = np.where(rejections > 0, logs[2] + logs[3] * (rejections - 1), 0.0)
    log_wrong = -np.logaddexp(0.0, _LOGITS[:, None] + lift)
    survival = weights @ np.exp(np.cumsum(log_wrong, axis=1))
    before = np.concatenate([[1.0], survival[:-1]])
    return before - survival, survival


def log_likelihood(logs: Vector, records: Sequence[InstanceResult]) -> float:
    """Return the natural logarithm of the probability of the records."""
    solved, unsolved = _outcome_probabilities(logs, max(record.calls for record in records))
    shares = [(solved if record.solved else unsolved)[record.calls - 1] for record in records]
    return float(np.log(np.maximum(shares, 1e-300)).sum())


def _log_prior(logs: Vector) -> float:
    """Return the logarithm of the prior density of the parameters, without its constant term."""
    return float(-0.5 * (((logs - PRIOR_MEAN) / PRIOR_SD) ** 2).sum())


def posterior_mode(records: Sequence[InstanceResult]) -> Vector:
    """Return the logarithms of the most probable parameters given the records."""

    def loss(logs: Vector) -> float:
        return -log_likelihood(logs, records) - _log_prior(logs)

    starts = (PRIOR_MEAN, np.array([-0.7, 1.5, 2.0, 0.2]))
    found = [minimize(loss, start, method="L-BFGS-B", bounds=[(-4.5, 5.5)] * len(start)) for start in starts]
    return min(found, key=lambda item: float(item.fun)).x


def odds_of(logs: Vector) -> AuthorOdds:
    """Return the parameters whose logarithms are in `logs`, as the odds of a profile, with three significant digits."""
    alpha, beta, first, further = (float(f"{value:.3g}") for value in np.exp(logs))
    return AuthorOdds(alpha=alpha, beta=beta, first=first, further=further)


def posterior_draws(records: Sequence[InstanceResult], count: int, seed: int, thin: int = THIN) -> Vector:
    """Return draws of the posterior, one per row: every `thin`-th step of a Metropolis chain with its own seed."""
    dice, at = np.random.default_rng(seed), posterior_mode(records)
    value, draws = log_likelihood(at, records) + _log_prior(at), []
    for step in range(BURN_IN + thin * count):
        proposal = at + dice.normal(0.0, 0.35, 4) * PRIOR_SD
        proposed = log_likelihood(proposal, records) + _log_prior(proposal)
        if np.log(dice.random()) < proposed - value:
            at, value = proposal, proposed
        if step >= BURN_IN and (step - BURN_IN) % thin == thin - 1:
            draws.append(at)
    return np.array(draws)
