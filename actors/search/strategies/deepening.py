"""Iterative deepening: depth-first under a cap of calls that doubles; what is accepted is paid for once. Pure.

An iteration is a branch. It ends when it is stuck or has used its cap; the next one stands on the artifacts that are
accepted then, with all visits and attempts given back and twice the cap. The last cap is the worst case of a branch, so
that the last iteration is a whole depth-first search.
"""

from dataclasses import dataclass

from actors.search.moves import Search
from actors.search.strategies.tree import Change, Open, Prune, PruneCause, Standing, Tree


@dataclass(frozen=True, slots=True)
class Deepening:
    """`first` is the cap of the first iteration, `worst` the worst case of one without a cap."""

    first: int
    worst: int
    moves: Search = Search.DEPTH_FIRST
    picks_best: bool = False

    @property
    def branches_max(self) -> int:
        """One for each cap."""
        return len(self._caps) + 1

    @property
    def calls_worst(self) -> int:
        """Every iteration at its cap, and the last at its worst."""
        return sum(self._caps) + self.worst

    @property
    def _caps(self) -> list[int]:
        """The caps that stop a search before its worst case."""
        caps = [max(1, self.first)]
        while caps[-1] < self.worst:
            caps.append(2 * caps[-1])
        return caps[:-1]

    def change(self, tree: Tree) -> Change | None:
        """End an iteration that is over, and open the next."""
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

    def may_ask(self, tree: Tree, one: Standing, layer: int) -> bool:  # noqa: ARG002 -- the port's signature
        """An iteration asks until its cap is used up."""
        caps = self._caps
        return one.branch >= len(caps) or one.calls < caps[one.branch]

    def slice_of(self, calls: int) -> int | None:  # noqa: ARG002 -- the port's signature
        """The caps are what limits an iteration."""
        return None
