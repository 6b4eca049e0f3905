"""The likelihood of recorded dialogues under the model of difficulty and feedback: fits, tests, posterior draws.

A record is the call that solved an instance, or the last call of an unsolved instance. The difficulty p has a beta
distribution. c(k, p) is the probability that call k succeeds. Its odds are those of p times the lift of k-1 rejections:

    P(solved at t) = E[c(t, p) * prod(1 - c(k, p) for k < t)],    P(unsolved in T) = E[prod(1 - c(k, p) for k <= T)].

The expectation is a sum over the log-odds of p. The probability beyond the ends of the grid is added at its ends.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]
from scipy.special import betainc, betaln  # type: ignore[import-untyped]
from scipy.stats import chi2, ncx2  # type: ignore[import-untyped]

from replan_lab.simulated.profile import TOLD_MAX, AuthorOdds

_LOGITS = np.linspace(-30.0, 30.0, 301)
_LOG_P, _LOG_Q = -np.logaddexp(0.0, -_LOGITS), -np.logaddexp(0.0, _LOGITS)
_STEP = _LOGITS[1] - _LOGITS[0]
PRIOR_MEAN = np.array([0.0, 1.5, 0.0, 0.0])
"""The prior means of the logarithms of alpha, beta, first and further."""
PRIOR_SD = np.array([1.5, 1.5, 1.5, 0.5])
"""The prior standard deviations. With 95 % probability, `first` is between 1/19 and 19, and `further` between 1/2.7 and
2.7.
"""
BURN_IN, THIN = 500, 10
"""The number of first steps of the Metropolis chain that are dropped, and the number of steps between two draws."""
SIMULATED = 2000
"""The number of simulated halves with which the held-out half is compared."""

Vector = Any
"""A numpy vector of floats."""


@dataclass(frozen=True, slots=True)
class InstanceResult:
    """The result of one instance."""

    calls: int
    """The number of the call that solved the instance, or of its last call."""
    solved: bool


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A model with fewer free parameters. Other parameters have fixed values."""

    free: int
    """The number of free parameters."""
    logs: Callable[[Vector], Vector]
    """Returns the logarithms of alpha, beta, first and further for the values of the free parameters."""


_PARAMETERS = len(PRIOR_MEAN)
"""The number of parameters of the whole model."""


EQUAL = 5.0
"""The logarithm of alpha + beta at which all problems are about equally hard."""
HYPOTHESES: Mapping[str, Hypothesis] = {
    "no_effect": Hypothesis(2, lambda v: np.array([v[0], v[1], 0.0, 0.0])),
    "first_only": Hypothesis(3, lambda v: np.array([v[0], v[1], v[2], 0.0])),
    "same_each_time": Hypothesis(3, lambda v: np.array([v[0], v[1], v[2], v[2]])),
    "equal_problems": Hypothesis(
        3, lambda v: np.array([EQUAL - np.logaddexp(0.0, v[0]), EQUAL - np.logaddexp(0.0, -v[0]), v[1], v[2]])
    ),
}
"""The hypotheses that a curve may exclude: no effect of feedback, an effect of only the first, the same effect of each;
equal problems.
"""


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
    """Return the logarithm of the prior, up to a constant."""
    return float(-0.5 * (((logs - PRIOR_MEAN) / PRIOR_SD) ** 2).sum())


def posterior_mode(records: Sequence[InstanceResult]) -> Vector:
    """Return the logarithms of the most probable parameters given the records."""
    return _best(
        lambda logs: log_likelihood(logs, records) + _log_prior(logs), (PRIOR_MEAN, np.array([-0.7, 1.5, 2.0, 0.2]))
    )


def odds_of(logs: Vector) -> AuthorOdds:
    """Return parameters in the form of a profile, with three significant digits."""
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


def held_out_p(draws: Vector, records: Sequence[InstanceResult], seed: int) -> float:
    """Return the posterior predictive p-value of the held-out records.

    It is the share of simulated data sets of the same size that are at most as probable as the held-out records. Below
    0.01 the model is rejected. Probabilities are means over the posterior draws. Each data set is simulated from one
    draw, so the uncertainty of the fit is included.
    """
    calls = max(record.calls for record in records)
    solved, unsolved = (
        np.array(probability) for probability in zip(*(_outcome_probabilities(d, calls) for d in draws), strict=True)
    )
    outcomes = np.concatenate([solved, unsolved[:, -1:]], axis=1).clip(0.0)
    mean = np.maximum(np.concatenate([solved.mean(axis=0), unsolved[:, -1:].mean(axis=0)]), 1e-300)
    # An instance that was given up early counts as unsolved at the last call: nobody knows how many calls it needed.
    observed = np.log([mean[record.calls - 1] if record.solved else mean[-1] for record in records]).sum()
    dice, sums = np.random.default_rng(seed), []
    for number in range(SIMULATED):
        shares = outcomes[number % len(outcomes)]
        made = dice.choice(calls + 1, size=len(records), p=shares / shares.sum())
        sums.append(np.log(mean[made]).sum())
    return float(np.mean(np.array(sums) <= observed + 1e-9))


def halves(records: Sequence[InstanceResult]) -> tuple[Sequence[InstanceResult], Sequence[InstanceResult]]:
    """Return two halves: every other record for the fit, in the order of the file, and the held-out rest."""
    return records[0::2], records[1::2]


def excluded_p(records: Sequence[InstanceResult], hypothesis: Hypothesis) -> float:
    """Return the p value of a likelihood ratio test of a hypothesis against the whole model."""
    full = log_likelihood(_mle(records), records)
    restricted = log_likelihood(hypothesis.logs(_mle(records, hypothesis)), records)
    return float(chi2.sf(max(0.0, 2 * (full - restricted)), _PARAMETERS - hypothesis.free))


def power(records: Sequence[InstanceResult], hypothesis: Hypothesis, level: float = 0.05) -> float:
    """Return the probability that such a curve excludes the hypothesis if the most probable parameters are true."""
    calls = max(record.calls for record in records)
    truth = _outcome_probabilities(posterior_mode(records), calls)
    shares = np.append(truth[0], truth[1][-1]).clip(1e-300)

    def expected(free: Vector) -> float:
        solved, unsolved = _outcome_probabilities(hypothesis.logs(free), calls)
        return float(shares @ np.log(np.append(solved, unsolved[-1]).clip(1e-300)))

    nearest = expected(_best(expected, _starts(hypothesis)))
    distance = 2 * len(records) * (float(shares @ np.log(shares)) - nearest)
    degrees = _PARAMETERS - hypothesis.free
    return float(ncx2.sf(chi2.isf(level, degrees), degrees, max(distance, 1e-9)))


def _mle(records: Sequence[InstanceResult], hypothesis: Hypothesis | None = None) -> Vector:
    if hypothesis is None:
        return _best(lambda logs: log_likelihood(logs, records), (PRIOR_MEAN, posterior_mode(records)))
    return _best(lambda free: log_likelihood(hypothesis.logs(free), records), _starts(hypothesis))


_STARTS = ((0.0, 1.5, 0.5), (-2.0, 1.0, 1.0), (3.0, 0.3, 0.1))
"""The free parameters from which the search for the largest likelihood starts.

They are far apart, because there are local maxima.
"""


def _starts(hypothesis: Hypothesis) -> tuple[Vector, ...]:
    return tuple(np.array(point)[: hypothesis.free] for point in _STARTS)


def _best(value: Callable[[Vector], float], starts: Sequence[Vector]) -> Vector:
    """Return the point at which a function has its maximum, within wide bounds."""
    bounds = [(-4.5, 5.5)] * len(starts[0])
    found = [minimize(lambda at: -value(at), start, method="L-BFGS-B", bounds=bounds) for start in starts]
    return min(found, key=lambda item: float(item.fun)).x
