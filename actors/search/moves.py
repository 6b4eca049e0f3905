"""Chooses the move after a failure: what the policy asks for, within the budgets (docs/explanation/search.md). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from actors.search.graph import Graph
from actors.search.progress import BranchProgress, can_redo, can_retry


class Search(StrEnum):
    """How one branch is searched. All kinds share the moves below and differ in the targets that they ask for."""

    DEPTH_FIRST = "depth_first"  # the policy chooses the target
    BLIND = "blind"  # always one level up
    LINEAR = "linear"  # never back


@dataclass(frozen=True, slots=True)
class Retry:
    """Try the failed step again, in this visit."""


@dataclass(frozen=True, slots=True)
class Redo:
    """Backtrack: unset the targets and everything that requires them."""

    targets: tuple[str, ...]
    """The steps to redo; all steps that require them are unset too."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """Nothing is left to try, or the policy gives up: the step stays rejected in this round."""

    root: bool
    """Whether the failed step is a root, that is, requires nothing."""


Move = Retry | Redo | Stuck


def choose(graph: Graph, progress: BranchProgress, failed: str, wanted: Sequence[str]) -> Move:
    """Return the first allowed move after the step `failed` was rejected.

    `wanted` are the targets that the policy asks for; the failed step itself stands for a retry. The candidates, in
    order: those targets; the steps farther up by distance (ties in reverse file order); the nearer steps; the unused
    attempts of this visit; a new visit of the failed step. A retry with no attempts left is treated as one level up.
    """
    retry = can_retry(graph, progress, failed)
    if failed in wanted and retry:
        return Retry()
    allowed = tuple(step for step in wanted if step in graph.above[failed] and can_redo(graph, progress, step))
    if allowed:
        return Redo(allowed)
    far = max((graph.distance(step, failed) for step in wanted if step in graph.above[failed]), default=1)
    for target in (*graph.upward(failed, far), *graph.nearer(failed, far)):
        if can_redo(graph, progress, target):
            return Redo((target,))
    if retry:
        return Retry()
    if can_redo(graph, progress, failed):
        return Redo((failed,))
    return stuck_move(graph, failed)


def stay(graph: Graph, progress: BranchProgress, failed: str) -> Move:
    """Return the move of a step that may not escalate any more: a retry, else a new visit of itself, else `Stuck`."""
    if can_retry(graph, progress, failed):
        return Retry()
    return Redo((failed,)) if can_redo(graph, progress, failed) else stuck_move(graph, failed)


def forward_only(graph: Graph, progress: BranchProgress, failed: str) -> Move:
    """Return the move of a linear search: a retry, else `Stuck`."""
    return Retry() if can_retry(graph, progress, failed) else stuck_move(graph, failed)


def stuck_move(graph: Graph, failed: str) -> Stuck:
    """Return the move of a step with nothing left to try."""
    return Stuck(root=not graph.requires[failed])


def one_up(graph: Graph, progress: BranchProgress, failed: str) -> Move:
    """Return the move of a blind search: a retry, else one level up (S11)."""
    if can_retry(graph, progress, failed):
        return Retry()
    return choose(graph, progress, failed, graph.upward(failed, 1)[:1])
