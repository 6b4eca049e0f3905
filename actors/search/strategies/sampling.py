"""Independent samples of the whole pipeline: best-of-N takes them concurrently, restart one after the other. Pure.

Both are baselines: a linear pipeline, sampled repeatedly. A sample gets no feedback from other samples, so that two
samples differ only by the model's own randomness; a deterministic model produces the same sample each time.
"""

from dataclasses import dataclass

from actors.search.moves import Search
from actors.search.strategies.tree import BranchView, Change, Open, Prune, PruneCause, SearchTree, prune_stuck


@dataclass(frozen=True, slots=True)
class _Samples:
    """The common part of both strategies."""

    samples: int
    """The most samples."""
    linear_calls: int
    """The worst case of one sample, in calls."""
    moves: Search = Search.LINEAR
    """As in `Strategy`."""
    compares: bool = True
    """As in `Strategy`."""

    @property
    def branches_max(self) -> int:
        """One for each sample."""
        return self.samples

    @property
    def calls_worst(self) -> int:
        """The worst case of every sample."""
        return self.samples * self.linear_calls

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return True: every sample may make attempts at any time."""
        return True


@dataclass(frozen=True, slots=True)
class BestOf(_Samples):
    """Concurrent samples, of which the best plan wins."""

    picks_best: bool = True
    """As in `Strategy`."""

    def change(self, tree: SearchTree) -> Change | None:
        """Open as many samples as the calls allow a first attempt for; prune those that are stuck."""
        if len(tree.branches) < min(self.samples, tree.calls):
            return Open(None, "a sample of its own")
        return prune_stuck(tree)

    def slice_of(self, calls: int) -> int | None:
        """An equal share for each sample."""
        return calls // self.samples


@dataclass(frozen=True, slots=True)
class Restart(_Samples):
    """One sample after another, each from the start, until one reaches the goal."""

    picks_best: bool = False
    """As in `Strategy`."""

    def change(self, tree: SearchTree) -> Change | None:
        """Start a new sample when one is stuck, unless it has made no calls, since the new one would be the same."""
        last = tree.branches[-1]
        if not last.live:
            return Open(None, "a fresh start")
        if last.stuck and last.calls and len(tree.branches) < self.samples:
            return Prune(last.branch, PruneCause.STUCK, "nothing is left to try in it")
        return None

    def slice_of(self, calls: int) -> int | None:  # noqa: ARG002 - the protocol's signature
        """No slices: only one sample runs at a time."""
        return None
