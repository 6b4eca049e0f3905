"""Layer by layer: beam search, and breadth-first search as the beam that never drops a path. Pure.

A layer are the steps that stand equally deep in the workflow. All branches finish a layer before any begins the next:
the barrier at which they are compared. There the duplicates are pruned, the best `width` are kept, and each is carried
on by `branching` branches; a place that has become free is taken by one more branch of the best.

Inside its layer a branch retries with feedback, as always. A branch that the policy sends back over a layer loses its
place while another has not; the last one goes back, as depth-first does. So a beam of width 1 *is* depth-first.
"""

from dataclasses import dataclass

from actors.search.moves import Search
from actors.search.strategies.tree import Change, Open, Prune, PruneCause, Standing, Tree, hopeless


@dataclass(frozen=True, slots=True)
class Layered:
    """`width` None keeps every path. `branches_max` and `calls_worst` are worked out where the workflow is known."""

    width: int | None
    branching: int
    moves: Search
    branches_max: int
    calls_worst: int
    picks_best: bool = True

    def change(self, tree: Tree) -> Change | None:
        """Prune what cannot go on, what is double and what is worse; then open what the next layer is to have."""
        front = tree.front
        dead = hopeless(tree) or _sent_back(front) or _double(tree.live)
        return dead or self._at_the_barrier(tree, front) or _starved(front)

    def _at_the_barrier(self, tree: Tree, front: list[Standing]) -> Change | None:
        if not front or any(one.begun or one.busy or one.layer != front[0].layer for one in front):
            return None
        top = front[0].layer == 0
        fresh = [one for one in front if (one.parent is not None if top else not one.own)]
        if not fresh and not top and self.width is not None and len(front) > self.width:
            worst = min(front, key=lambda one: one.rank)
            return Prune(worst.branch, PruneCause.RANK, f"{self.width} others rank higher")
        old = [one for one in front if one not in fresh]
        wanted = self.branching * (len(old) if self.width is None else self.width)
        old = old or front
        room = min(wanted, tree.left) - len(front)  # A branch that cannot pay its first attempt is not opened.
        if room <= 0 or len(tree.branches) >= self.branches_max:
            return None
        children = {one.branch: sum(1 for child in fresh if child.parent == one.branch) for one in old}
        best = min(old, key=lambda one: (children[one.branch], *(-part for part in one.rank)))
        return Open(best.branch, "one more way on from here")

    def may_ask(self, tree: Tree, one: Standing, layer: int) -> bool:
        """Nobody begins a layer before all have finished the one above it."""
        if self.width == self.branching == 1:
            return True
        first = one.waiting or one.layer <= min((other.layer for other in tree.front), default=0)
        return first and layer <= one.layer

    def slice_of(self, calls: int) -> int | None:
        """An equal share for each place of the beam."""
        return None if self.width is None else calls // (self.width * self.branching)


def _sent_back(front: list[Standing]) -> Prune | None:
    """Prune a branch that would go back, while another has not to."""
    back = [one for one in front if one.back]
    if not back or len(front) == 1:
        return None
    worst = min(back, key=lambda one: one.rank)
    return Prune(worst.branch, PruneCause.BACK, "it would have to go back, and others have not")


def _starved(front: list[Standing]) -> Prune | None:
    """Prune a branch that others wait for, and that has used up its slice of the calls."""
    lowest = min((one.layer for one in front), default=0)
    spent = [one for one in front if one.spent and not one.busy and one.layer == lowest]
    if not spent or len(front) == 1:
        return None
    worst = min(spent, key=lambda one: one.rank)
    return Prune(worst.branch, PruneCause.CALLS, "its slice of the calls is used up")


def _double(live: list[Standing]) -> Prune | None:
    """Prune the younger of two branches that have made the same."""
    seen: dict[tuple[str, ...], int] = {}
    for one in live:
        if one.layer and one.own and not one.begun and one.made in seen:
            same = seen[one.made]
            return Prune(one.branch, PruneCause.DUPLICATE, f"branch {same} has the same artifacts")
        seen.setdefault(one.made, one.branch)
    return None
