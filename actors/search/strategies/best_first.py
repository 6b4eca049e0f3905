"""Best-first search: depth-first, but before it backtracks it keeps a promising branch open, to return to it. Pure.

If a decision to backtrack would clear an artifact to which the guard gave a score above 0, the branch stays open, and a
new branch backtracks in its place. Of all open branches the one with the lowest estimate continues: `f = calls so far +
(1 - score) * fewest calls to the goal`; of equal ones the newest. A branch that was kept open only uses the attempts
that its rejected step has left. It does not backtrack itself, because the new branch has done so, unless no other
branch is left.

With guards whose score is 0 or 1, a branch with a rejection is no better than a fresh start. No branch is kept open
then, and the search makes exactly the attempts of depth-first search (S10).
"""

from dataclasses import dataclass

from actors.search.moves import Search
from actors.search.strategies.tree import BranchView, Change, Open, Prune, PruneCause, SearchTree, prune_stuck


@dataclass(frozen=True, slots=True)
class BestFirst:
    """Best-first search with a limited number of open branches."""

    width: int
    """The most branches that are kept open besides the newest."""
    branches_max: int
    """As in `Strategy`."""
    calls_worst: int
    """As in `Strategy`."""
    moves: Search = Search.DEPTH_FIRST
    """As in `Strategy`."""
    compares: bool = True
    """As in `Strategy`."""
    picks_best: bool = False
    """As in `Strategy`."""

    def change(self, tree: SearchTree) -> Change | None:
        """Open a branch that backtracks in place of a promising one; prune the worst branch if too many are open."""
        front = tree.front
        parents = {branch.parent for branch in tree.branches}
        for branch in front:
            if branch.back and branch.branch in parents and len(front) > 1:
                return Prune(branch.branch, PruneCause.BACK, "the way back from here is another branch's")
            promising = branch.back and branch.retryable and branch.promise > 0 and not branch.busy
            if promising and len(tree.branches) < self.branches_max and tree.left > 0:
                return Open(branch.branch, "the way that the policy wants; the end that it leaves stays open")
        kept_open = [branch for branch in front if branch.branch in parents and not branch.busy]
        if len(kept_open) > self.width:
            worst = max(kept_open, key=estimate)
            return Prune(worst.branch, PruneCause.RANK, f"{self.width} other ends promise more")
        return prune_stuck(tree)

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return whether the last attempt has been judged, and the branch has the lowest estimate."""
        if any(other.busy and other.branch != branch.branch for other in tree.front):
            return False
        candidates = tree.front or tree.live  # A branch that waits for a person may have other steps to continue with.
        return branch.branch == min(candidates, key=lambda other: (estimate(other), -other.branch)).branch

    def slice_of(self, calls: int) -> int | None:  # noqa: ARG002 - the protocol's signature
        """No slices: only one branch makes attempts at a time."""
        return None


def estimate(branch: BranchView) -> float:
    """Return f: the calls of the path, plus the fewest calls to the goal weighted by 1 - the lowest score."""
    return branch.path_calls + (1.0 - branch.promise) * branch.rest
