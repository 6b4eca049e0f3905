"""Samples of the whole pipeline that know nothing of each other: best-of-N side by side, restart one by one. Pure.

Both are baselines: a forward-only pipeline, sampled again. A sample sees no other sample's failures, so that what makes
two of them different is the model's own sampling; a model that always answers alike makes the same sample again.
"""

from dataclasses import dataclass

from actors.search.moves import Search
from actors.search.strategies.tree import Change, Open, Prune, PruneCause, Standing, Tree, hopeless


@dataclass(frozen=True, slots=True)
class _Samples:
    """What both have in common. `linear_calls` is the worst case of one sample."""

    samples: int
    linear_calls: int
    moves: Search = Search.LINEAR

    @property
    def branches_max(self) -> int:
        """One for each sample."""
        return self.samples

    @property
    def calls_worst(self) -> int:
        """Every sample at its worst."""
        return self.samples * self.linear_calls

    def may_ask(self, tree: Tree, one: Standing, layer: int) -> bool:  # noqa: ARG002 -- the port's signature
        """No sample waits for another."""
        return True


@dataclass(frozen=True, slots=True)
class BestOf(_Samples):
    """All samples at once; the best plan wins."""

    picks_best: bool = True

    def change(self, tree: Tree) -> Change | None:
        """Open every sample that the calls can pay a first attempt of; end those that are stuck."""
        if len(tree.branches) < min(self.samples, tree.calls):
            return Open(None, "a sample of its own")
        return hopeless(tree)

    def slice_of(self, calls: int) -> int | None:
        """An equal share for each."""
        return calls // self.samples


@dataclass(frozen=True, slots=True)
class Restart(_Samples):
    """One sample after the other, each from nothing, until one brings a plan."""

    picks_best: bool = False

    def change(self, tree: Tree) -> Change | None:
        """Begin again where a sample is stuck. One that has called no model would only be repeated."""
        last = tree.branches[-1]
        if not last.live:
            return Open(None, "a fresh start")
        if last.stuck and last.calls and len(tree.branches) < self.samples:
            return Prune(last.branch, PruneCause.STUCK, "nothing is left to try in it")
        return None

    def slice_of(self, calls: int) -> int | None:  # noqa: ARG002 -- the port's signature
        """All is for the one that is under way."""
        return None
