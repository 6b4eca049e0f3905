"""Fitting the weights of blame to labelled traces, and judging them on traces that were held out. Pure.

The weights are the maximum of the likelihood of the marked steps, less half of `RIDGE` times the sum of their squared
differences to a prior. It is unique, and found by Newton's method.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from replan.blame.attribution import VALUES_MAX, BlameWeights, softmax
from replan.blame.features import StepFeatures, values_of

RIDGE = 6.0
"""How strongly weights are held at their prior: a weight's prior standard deviation is 1 / sqrt(6) = 0.41."""
_ROUNDS, _SETTLED = 50, 1e-6


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labelled trace as it is fitted."""

    seen: Sequence[StepFeatures]
    """The features of each step."""
    mistake: int
    """The number of the marked step."""


def fitted(
    traces: Sequence[Labelled], name: str, prior: BlameWeights | None = None, ridge: float = RIDGE
) -> BlameWeights:
    """Return the weights fitted to labelled traces; without a prior, that of each weight is 0.

    Raises:
        ValueError: there is no trace, or a feature has more than `VALUES_MAX` values with those of the prior.
        ArithmeticError: Newton's method does not converge.
    """
    if not traces:
        raise ValueError("no labelled traces")
    found = values_of([trace.seen for trace in traces])
    for feature, values in (prior.weights if prior else {}).items():
        found[feature] = sorted({*found[feature], *values})
        if len(found[feature]) > VALUES_MAX:
            raise ValueError(f"the feature {feature!r} has more than {VALUES_MAX} values with those of the traces")
    places = {pair: number for number, pair in enumerate((name, value) for name in found for value in found[name])}
    start = [prior.weights.get(name, {}).get(value, 0.0) if prior else 0.0 for name, value in places]
    rows = [([[places[pair] for pair in step.items()] for step in trace.seen], trace.mistake) for trace in traces]
    weights = _newton(rows, start, ridge)
    table = {
        feature: {value: round(weights[places[feature, value]], 3) for value in values}
        for feature, values in found.items()
    }
    return BlameWeights(name=name, traces=len(traces) + (prior.traces if prior else 0), weights=table)


_Rows = Sequence[tuple[Sequence[Sequence[int]], int]]


def _newton(rows: _Rows, start: Sequence[float], ridge: float) -> list[float]:
    weights = list(start)
    for _ in range(_ROUNDS):
        gradient, negative_hessian = _derivatives(rows, weights, start, ridge)
        move = _solved(negative_hessian, gradient)
        weights = [weight + each for weight, each in zip(weights, move, strict=True)]
        if max(map(abs, move)) < _SETTLED:
            return weights
    raise ArithmeticError(f"no convergence in {_ROUNDS} iterations")


def _derivatives(
    rows: _Rows, weights: Sequence[float], start: Sequence[float], ridge: float
) -> tuple[list[float], list[list[float]]]:
    """Return the gradient of the penalised log-likelihood, and the negative of its second derivatives."""
    size = len(weights)
    gradient = [ridge * (first - weight) for first, weight in zip(start, weights, strict=True)]
    negative_hessian = [[0.0] * size for _ in range(size)]
    for number in range(size):
        negative_hessian[number][number] = ridge
    for steps, mistake in rows:
        scores = [sum(weights[place] for place in step) for step in steps]
        means = dict[int, float]()
        for step, chance in zip(steps, softmax(scores), strict=True):
            for place in step:
                means[place] = means.get(place, 0.0) + chance
                line = negative_hessian[place]
                for other in step:
                    line[other] += chance
        for place in steps[mistake]:
            gradient[place] += 1.0
        for place, mean in means.items():
            gradient[place] -= mean
            line = negative_hessian[place]
            for other, also in means.items():
                line[other] -= mean * also
    return gradient, negative_hessian


def _solved(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of linear equations with a symmetric positive definite matrix, by Cholesky's method.

    Raises:
        ArithmeticError: it is not positive definite.
    """
    size, lower = len(right), [row[:] for row in matrix]
    for number in range(size):
        line = lower[number]
        for other in range(number):
            above = lower[other]
            line[other] = (line[other] - sum(map(float.__mul__, line[:other], above[:other]))) / above[other]
        square = line[number] - sum(each * each for each in line[:number])
        if not square > 0:  # Rounded, or not a number any more.
            raise ArithmeticError("the second derivatives are not definite")
        line[number] = math.sqrt(square)
    middle: list[float] = []
    for number in range(size):
        line = lower[number]
        middle.append((right[number] - sum(map(float.__mul__, line[:number], middle))) / line[number])
    found = [0.0] * size
    for number in reversed(range(size)):
        rest = sum(lower[other][number] * found[other] for other in range(number + 1, size))
        found[number] = (middle[number] - rest) / lower[number][number]
    return found


@dataclass(frozen=True, slots=True)
class WeightsJudged:
    """How well weights do on labelled traces."""

    traces: int
    """The number of the traces."""
    hits: int
    """In how many the likeliest step is the marked one."""
    log_scores: tuple[float, ...]
    """The logarithm of the probability of each marked step."""


def judged(traces: Sequence[Labelled], weights: BlameWeights) -> WeightsJudged:
    """Return how well weights do on labelled traces."""
    hits, scores = 0, list[float]()
    for trace in traces:
        chances = weights.probabilities(trace.seen)
        hits += chances.index(max(chances)) == trace.mistake
        scores.append(math.log(max(chances[trace.mistake], 1e-300)))
    return WeightsJudged(len(traces), hits, tuple(scores))


def calibration_error(chances: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """Return the expected calibration error (Naeini et al. 2015): how far shares are from chances, in equal bins."""
    edges, error = [number / bins for number in range(bins + 1)], 0.0
    for low, high in pairwise(edges):
        inside = [each for each in chances if low <= each[0] < high or (high == 1.0 and each[0] == 1.0)]
        error += abs(sum(chance for chance, _ in inside) - sum(hit for _, hit in inside))
    return error / max(1, len(chances))
