"""Best-first: depth-first that keeps a promising end open when the policy goes back, and returns to it. Pure.

When a decision would clear an artifact that the guard found partly good, the end stays open, and a new branch goes the
way that the policy wants. Of all open ends the cheapest goes on: `f = calls so far + (1 - score) * least calls to the
goal`, ties to the youngest. An end that was left is only mended where it stands, with the attempts that it has left;
going back was the other branch's part, unless no other is left.

A verdict that says only yes or no scores a rejection with 0: then an end that is left promises no more than to begin
anew, none is kept, and the search is depth-first, attempt for attempt (S10).
"""

from dataclasses import dataclass

from actors.search.moves import Search
from actors.search.strategies.tree import Change, Open, Prune, PruneCause, Standing, Tree, hopeless


@dataclass(frozen=True, slots=True)
class BestFirst:
    """At most `width` ends are kept open besides the newest."""

    width: int
    branches_max: int
    calls_worst: int
    moves: Search = Search.DEPTH_FIRST
    picks_best: bool = False

    def change(self, tree: Tree) -> Change | None:
        """Keep or drop an end that a decision leads away from; drop the worst where there are too many."""
        front = tree.front
        parents = {one.parent for one in tree.branches}
        for one in front:
            if one.back and one.branch in parents and len(front) > 1:
                return Prune(one.branch, PruneCause.BACK, "the way back from here is another branch's")
            kept = one.back and one.mendable and one.promise > 0 and not one.busy
            if kept and len(tree.branches) < self.branches_max and tree.left > 0:
                return Open(one.branch, "the way that the policy wants; the end that it leaves stays open")
        left = [one for one in front if one.branch in parents and not one.busy]
        if len(left) > self.width:
            worst = max(left, key=estimate)
            return Prune(worst.branch, PruneCause.RANK, f"{self.width} other ends promise more")
        return hopeless(tree)

    def may_ask(self, tree: Tree, one: Standing, layer: int) -> bool:  # noqa: ARG002 -- the port's signature
        """The most promising end goes on, once it is known what the last attempt has come to."""
        if any(other.busy and other.branch != one.branch for other in tree.front):
            return False
        open_ends = tree.front or tree.live  # A branch that waits for a person may have other steps to go on with.
        return one.branch == min(open_ends, key=lambda other: (estimate(other), -other.branch)).branch

    def slice_of(self, calls: int) -> int | None:  # noqa: ARG002 -- the port's signature
        """Only one end is worked on at a time."""
        return None


def estimate(one: Standing) -> float:
    """Return f: what the path has cost, and the least that is missing, as far as the last verdict doubts the path."""
    return one.path_calls + (1.0 - one.promise) * one.rest
