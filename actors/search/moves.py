"""From what the policy wants to what the budgets allow: the move after a failure (docs/explanation/search.md). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from actors.search.graph import Graph
from actors.search.progress import Progress, can_redo, can_retry


class Search(StrEnum):
    """The search strategies. All share the moves below; they differ in what they ask for."""

    DEPTH_FIRST = "depth_first"
    BLIND = "blind"
    LINEAR = "linear"


@dataclass(frozen=True, slots=True)
class Retry:
    """Try the failed step again, in this visit."""


@dataclass(frozen=True, slots=True)
class Redo:
    """Go back: unset the targets and all that requires them."""

    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stuck:
    """Nothing is left to try. `root` tells whether the failed step requires nothing."""

    root: bool


Move = Retry | Redo | Stuck


def choose(graph: Graph, progress: Progress, failed: str, wanted: Sequence[str]) -> Move:
    """Return the first allowed move after `failed` was rejected.

    `wanted` are the targets that the policy asks for; the failed step itself means a retry. In order: the targets;
    then upward by distance (ties: later in the file first); then nearer steps; then the unused attempts of this visit;
    then a new visit of the failed step. A retry without attempts left asks for one up instead.
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
    return stuck(graph, failed)


def stay(graph: Graph, progress: Progress, failed: str) -> Move:
    """Return the move of a step that may escalate no more: its attempts, then new visits of itself, then nothing."""
    if can_retry(graph, progress, failed):
        return Retry()
    return Redo((failed,)) if can_redo(graph, progress, failed) else stuck(graph, failed)


def forward_only(graph: Graph, progress: Progress, failed: str) -> Move:
    """Return the only move of a linear search: the attempts of this visit, and then nothing."""
    return Retry() if can_retry(graph, progress, failed) else stuck(graph, failed)


def stuck(graph: Graph, failed: str) -> Stuck:
    """Return the move that gives up."""
    return Stuck(root=not graph.requires[failed])


def one_up(graph: Graph, progress: Progress, failed: str) -> Move:
    """Return the move of a blind search: the attempts of this visit, then one level up (S11)."""
    if can_retry(graph, progress, failed):
        return Retry()
    return choose(graph, progress, failed, graph.upward(failed, 1)[:1])
