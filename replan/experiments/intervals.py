"""Uncertainty: Wilson's interval of a share, and intervals of means and of differences."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

Z = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

Interval = tuple[float, float]


def wilson(hits: int, of: int) -> Interval:
    """Return the 95 % interval of a share (Wilson 1927); everything for no cases."""
    if of == 0:
        return 0.0, 1.0
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def of_mean(values: Sequence[float]) -> Interval:
    """Return the 95 % interval of a mean, by the normal approximation; everything for fewer than two values."""
    if len(values) < 2:
        return -math.inf, math.inf
    half = Z * stdev(values) / math.sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def of_ratio(above: Sequence[float], below: Sequence[float]) -> Interval:
    """Return the 95 % interval of sum(above) / sum(below), paired, by the delta method; everything if it has none."""
    total = sum(below)
    if total == 0 or len(below) < 2:
        return 0.0, math.inf
    ratio = sum(above) / total
    residuals = [up - ratio * down for up, down in zip(above, below, strict=True)]
    half = Z * stdev(residuals) * math.sqrt(len(below)) / total
    return max(0.0, ratio - half), ratio + half
