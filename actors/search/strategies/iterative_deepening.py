"""Iterative deepening: depth-first search under a cap of calls that doubles with each iteration. Pure.

Each iteration is a branch. It ends when it is stuck or has used up its cap. The next one starts with the artifacts that
are accepted then, so that no artifact is generated twice; its visits and attempts are reset, and its cap is twice as
large. The last iteration has no cap, so it is a complete depth-first search.
"""

from dataclasses import dataclass

from actors.search.moves import Search
from actors.search.strategies.tree import BranchView, Change, Open, Prune, PruneCause, SearchTree


@dataclass(frozen=True, slots=True)
class IterativeDeepening:
    """Iterative deepening over the number of calls."""

    first: int
    """The cap of the first iteration, in calls."""
    worst: int
    """The worst case of an iteration without a cap, in calls."""
    moves: Search = Search.DEPTH_FIRST
    """As in `Strategy`."""
    compares: bool = True
    """As in `Strategy`."""
    picks_best: bool = False
    """As in `Strategy`."""

    @property
    def branches_max(self) -> int:
        """One for each cap, and one without a cap."""
        return len(self._caps) + 1

    @property
    def calls_worst(self) -> int:
        """The sum of all caps and of the last iteration's worst case."""
        return sum(self._caps) + self.worst

    @property
    def _caps(self) -> list[int]:
        """The caps below the worst case, one for each iteration but the last."""
        caps = [max(1, self.first)]
        while caps[-1] < self.worst:
            caps.append(2 * caps[-1])
        return caps[:-1]

    def change(self, tree: SearchTree) -> Change | None:
        """Prune an iteration that is stuck or has used up its cap; then open the next one."""
        last = tree.branches[-1]
        if not last.live:
            return Open(last.branch, f"iteration {len(tree.branches) + 1}", anew=True)
        caps = self._caps
        if last.done or last.waiting or last.busy or last.back or last.branch >= len(caps):
            return None
        if last.calls >= caps[last.branch]:
            return Prune(last.branch, PruneCause.CALLS, f"its cap of {caps[last.branch]} calls is used up")
        if last.stuck:
            return Prune(last.branch, PruneCause.STUCK, "nothing is left to try in it")
        return None

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return whether the cap of the iteration is not used up."""
        caps = self._caps
        return branch.branch >= len(caps) or branch.calls < caps[branch.branch]

    def slice_of(self, calls: int) -> int | None:  # noqa: ARG002 - the protocol's signature
        """No slices: the caps limit the iterations."""
        return None
