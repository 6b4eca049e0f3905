"""Why a branch is pruned, as events record it. Pure."""

from enum import StrEnum


class PruneCause(StrEnum):
    """The reason for which a branch was pruned."""

    STUCK = "stuck"  # it has nothing left to try
    DUPLICATE = "duplicate"  # another branch has the same artifacts
    RANK = "rank"  # better branches fill the beam
    BACK = "back"  # it would have to backtrack, and other branches need not
    CALLS = "calls"  # it has used up its slice of the calls
