"""Successive halving: the order of the entrants by their trials, and who stays for the next rung. Pure.

An entrant is a workflow with a policy, tried with the largest cap; a trial shows what each smaller cap would have
brought (`replan/experiments/equal_calls.py`). All entrants are compared on the same pairs of problem and seed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from replan.experiments.equal_calls import Curve
from replan.experiments.intervals import Interval, mean_interval, wilson_interval


@dataclass(frozen=True, slots=True)
class Standing:
    """What an entrant has come to within a cap."""

    entrant: str
    """The entrant's name."""
    cap: int
    """The limit of the calls of one run."""
    trials: int
    """The pairs of problem and seed that every entrant of its last rung has been tried on."""
    successes: int
    """The trials that succeeded within the cap."""
    calls_mean: float
    """Mean calls of a trial; no trial counts with more than the cap."""

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the share of successes."""
        return wilson_interval(self.successes, self.trials)


def standings(curves: Sequence[Curve], caps: Sequence[int]) -> list[Standing]:
    """Return every entrant with every cap, best first: most successes, then fewest calls, then the smaller cap.

    Only pairs count that all entrants have been tried on; without one the result is empty.
    """
    pairs = common_pairs(curves)
    if not pairs:
        return []
    rows = [_standing(curve, cap, pairs) for curve in curves for cap in sorted(caps)]
    return sorted(rows, key=lambda row: (-row.successes, row.calls_mean, row.cap))


def common_pairs(curves: Sequence[Curve]) -> list[tuple[str, int]]:
    """Return the pairs of problem and seed that all entrants have been tried on, in the order of the first one."""
    tried = [trials for curve in curves for trials in curve.by_cap.values()]
    return [pair for pair in tried[0] if all(pair in each for each in tried[1:])] if tried else []


def survivors(rows: Sequence[Standing]) -> list[str]:
    """Return the better half of the entrants, rounded up, each judged by its best cap."""
    names = list(dict.fromkeys(row.entrant for row in rows))
    return names[: math.ceil(len(names) / 2)]


def rungs_left(entrants: int) -> int:
    """Return in how many rungs this many entrants are halved to one, at least 1."""
    return max(1, math.ceil(math.log2(entrants)))


def difference(own: Curve, own_cap: int, other: Curve, other_cap: int) -> tuple[float, Interval]:
    """Return the paired difference of two shares of successes, with its 95 % interval. They have a common pair."""
    mine, theirs = own.at(own_cap), other.at(other_cap)
    values = [mine[pair][0] - theirs[pair][0] for pair in common_pairs((own, other))]
    return fmean(values), mean_interval(values)


def _standing(curve: Curve, cap: int, pairs: Sequence[tuple[str, int]]) -> Standing:
    within = curve.at(cap)
    hits = sum(within[pair][0] for pair in pairs)
    return Standing(curve.label, cap, len(pairs), int(hits), fmean(within[pair][1] for pair in pairs))
