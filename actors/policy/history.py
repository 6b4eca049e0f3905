"""The earlier failures of a round, as the policies remember them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.search.graph import Graph
from actors.values.findings import Verdict

Signature = frozenset[tuple[str, str]]
"""The set of (code, where) of a verdict's error findings. Failures with equal signatures count as the same failure."""


@dataclass(frozen=True, slots=True)
class Came:
    """What redone steps have brought, compared with what they had brought before from the same inputs."""

    same: tuple[str, ...] = ()
    """The steps whose artifact came again word for word."""
    other: tuple[str, ...] = ()
    """The steps whose artifact is another one."""


NOTHING = Came()
"""No step was compared."""


@dataclass(frozen=True, slots=True)
class Past:
    """An earlier failure of this round."""

    step: str
    """The id of the step that failed."""
    signature: Signature
    """The codes and places of its errors, to recognise stagnation."""
    up: int = 0
    """The position of the decision's farthest target in `Graph.upward(step, 1)`, from 1; 0: a retry or a question."""
    row: str = ""
    """With a belief policy, the row that matched; empty where the rejection says nothing about where the mistake is."""
    redone: tuple[str, ...] = ()
    """With a belief policy, the steps that the decision redid, the failed one included."""
    came: Came = NOTHING
    """With a belief policy that goes by agreement, what the steps above brought before the failure."""
    mended: str = ""
    """With a belief policy, the row by which it was retried before the belief was asked; else empty."""

    def is_again(self, earlier: Sequence["Past"]) -> bool | None:
        """Return whether the last earlier failure of the step was the same; None if there was none.

        Failures that a rule has decided about do not count: the belief has not read them.
        """
        last = next((past for past in reversed(earlier) if past.step == self.step and past.row), None)
        return None if last is None else last.signature == self.signature


def signature(verdict: Verdict) -> Signature:
    """Return the signature of a verdict."""
    return frozenset((finding.code, finding.where) for finding in verdict.errors)


def places_up(graph: Graph, step: str, targets: Sequence[str]) -> int:
    """Return the position of the farthest target in `Graph.upward(step, 1)`, from 1; 0 if no target is in it."""
    upward = enumerate(graph.upward(step, 1), 1)
    return max((position for position, upper in upward if upper in targets), default=0)
