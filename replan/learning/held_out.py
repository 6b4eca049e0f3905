"""Judging an estimate by data that was held out: half of the groups, with a standard error clustered by group. Pure.

A group is the runs of one problem, or the traces of one question: its members are not independent of each other.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from runtime.core.events import text_hash

ERRORS = 2.0
"""The standard errors by which the log score must improve."""
GROUPS_MIN = 20
"""The fewest held-out groups that can judge an estimate: a standard error of fewer says little."""


def is_held_out(group: str) -> bool:
    """Return whether a group is held out, by a bit of its name's hash."""
    return int(text_hash(group)[-1], 16) % 2 == 1


@dataclass(frozen=True, slots=True)
class Improvement:
    """By how much the log score of held-out data has improved."""

    groups: int
    """The number of groups."""
    mean: float
    """The mean improvement of a member, in nats; 0 where nothing is held out."""
    error: float
    """Its standard error, clustered by group (Liang and Zeger 1986); infinite for fewer than two groups."""

    @property
    def convincing(self) -> bool:
        """Whether it is more than `ERRORS` standard errors, in at least `GROUPS_MIN` groups."""
        return self.groups >= GROUPS_MIN and self.mean > ERRORS * self.error

    def described(self, member: str) -> str:
        """Return a sentence about it; `member` is what was held out, such as `run`."""
        more = "more" if self.convincing else "not more"
        return (
            f"The log score of a held-out {member} changes by {self.mean:+.4f}, standard error {self.error:.4f}: "
            f"{more} than two standard errors better."
        )


def improvement(gains: Iterable[tuple[str, float, int]]) -> Improvement:
    """Return the improvement from the gains of members, each with its group and the number of equal members.

    If each group has one member, the error is the sample's standard deviation over the root of the count.
    """
    rows = list(gains)
    count = sum(number for _, _, number in rows)
    mean = math.fsum(gain * number for _, gain, number in rows) / count if count else 0.0
    deviations = defaultdict[str, float](float)
    for group, gain, number in rows:
        deviations[group] += number * (gain - mean)
    groups = len(deviations)
    if groups < 2:
        return Improvement(groups, mean, math.inf)
    squares = sum(each * each for each in deviations.values())
    return Improvement(groups, mean, math.sqrt(groups / (groups - 1) * squares) / count)
