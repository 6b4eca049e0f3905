"""Beam search, and breadth-first search as a beam of unlimited width. Pure.

A layer is the set of steps at one depth of the workflow. Each layer ends with a barrier: no branch begins the next
layer before all have finished this one. At the barrier the branches are compared: duplicates are pruned, the best
`width` branches are kept, and each is continued by `branching` branches. If places are left, the best branches get more
successors.

Inside a layer a branch retries with feedback, as in every search. A branch that the policy sends back is pruned as long
as another branch need not go back. The last branch backtracks, as in depth-first search; so a beam of width 1 *is*
depth-first search.
"""

from dataclasses import dataclass

from actors.search.moves import Search
from actors.search.strategies.tree import BranchView, Change, Open, Prune, PruneCause, SearchTree, prune_stuck


@dataclass(frozen=True, slots=True)
class Beam:
    """Beam search, or breadth-first search if the width is unlimited."""

    width: int | None
    """The branches that are kept at a barrier; None: all."""
    branching: int
    """The branches by which each kept branch is continued."""
    moves: Search
    """As in `Strategy`."""
    branches_max: int
    """As in `Strategy`."""
    calls_worst: int
    """As in `Strategy`."""
    compares: bool = True
    """As in `Strategy`."""
    picks_best: bool = True
    """As in `Strategy`."""

    def change(self, tree: SearchTree) -> Change | None:
        """Prune branches that cannot continue, duplicates and the worst; then open the branches of the next layer."""
        front = tree.front
        pruning = prune_stuck(tree) or _prune_sent_back(front) or _prune_duplicate(tree.live)
        return pruning or self._at_barrier(tree, front) or _prune_spent(front)

    def _at_barrier(self, tree: SearchTree, front: list[BranchView]) -> Change | None:
        """Return the next change at a barrier, or None if the branches have not reached one or nothing is to change."""
        if not front or any(branch.begun or branch.busy or branch.layer != front[0].layer for branch in front):
            return None
        top = front[0].layer == 0
        opened = [branch for branch in front if (branch.parent is not None if top else not branch.own)]
        if not opened and not top and self.width is not None and len(front) > self.width:
            worst = min(front, key=lambda branch: branch.rank)
            return Prune(worst.branch, PruneCause.RANK, f"{self.width} others rank higher")
        parents = [branch for branch in front if branch not in opened]
        wanted = self.branching * (len(parents) if self.width is None else self.width)
        parents = parents or front
        places = min(wanted, tree.left) - len(front)  # No branch is opened without a call left for its first attempt.
        if places <= 0 or len(tree.branches) >= self.branches_max:
            return None
        children = {parent.branch: sum(1 for child in opened if child.parent == parent.branch) for parent in parents}
        best = min(parents, key=lambda parent: (children[parent.branch], *(-part for part in parent.rank)))
        return Open(best.branch, "one more way on from here")

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:
        """Return whether all branches have finished the layer above."""
        if self.width == self.branching == 1:
            return True
        last = branch.waiting or branch.layer <= min((other.layer for other in tree.front), default=0)
        return last and layer <= branch.layer

    def slice_of(self, calls: int) -> int | None:
        """An equal share for each branch of the beam; none if the width is unlimited."""
        return None if self.width is None else calls // (self.width * self.branching)


def _prune_sent_back(front: list[BranchView]) -> Prune | None:
    """Prune the worst branch that would backtrack, unless it is the only one."""
    back = [branch for branch in front if branch.back]
    if not back or len(front) == 1:
        return None
    worst = min(back, key=lambda branch: branch.rank)
    return Prune(worst.branch, PruneCause.BACK, "it would have to go back, and others have not")


def _prune_spent(front: list[BranchView]) -> Prune | None:
    """Prune the worst of the branches that have used up their slices of the calls while others wait for them."""
    lowest = min((branch.layer for branch in front), default=0)
    spent = [branch for branch in front if branch.spent and not branch.busy and branch.layer == lowest]
    if not spent or len(front) == 1:
        return None
    worst = min(spent, key=lambda branch: branch.rank)
    return Prune(worst.branch, PruneCause.CALLS, "its slice of the calls is used up")


def _prune_duplicate(live: list[BranchView]) -> Prune | None:
    """Prune the newer of two branches with the same artifacts."""
    seen: dict[tuple[str, ...], int] = {}
    for branch in live:
        if branch.layer and branch.own and not branch.begun and branch.texts in seen:
            older = seen[branch.texts]
            return Prune(branch.branch, PruneCause.DUPLICATE, f"branch {older} has the same artifacts")
        seen.setdefault(branch.texts, branch.branch)
    return None
