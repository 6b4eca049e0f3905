"""Confidence intervals of 95 %: of a share, of a mean, and of a ratio."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

Z = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

Interval = tuple[float, float]
"""Lower and upper bound."""


def wilson_interval(hits: int, of: int) -> Interval:
    """Return the interval of the share `hits / of` (Wilson 1927); [0, 1] if `of` is 0."""
    if of == 0:
        return 0.0, 1.0
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the interval of a mean, by the normal approximation; unbounded for fewer than two values."""
    if len(values) < 2:
        return -math.inf, math.inf
    half = Z * stdev(values) / math.sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def ratio_interval(above: Sequence[float], below: Sequence[float]) -> Interval:
    """Return the interval of sum(above) / sum(below) for paired values, by the delta method; [0, inf] if undefined."""
    total = sum(below)
    if total == 0 or len(below) < 2:
        return 0.0, math.inf
    ratio = sum(above) / total
    residuals = [up - ratio * down for up, down in zip(above, below, strict=True)]
    half = Z * stdev(residuals) * math.sqrt(len(below)) / total
    return max(0.0, ratio - half), ratio + half
