"""The strategies that decide which branches a search opens and prunes, and `strategy_of`, which makes one. Pure."""

from dataclasses import dataclass

from actors.search.graph import Graph, happy_calls, linear_calls, worst_case_calls
from actors.search.notation import NUMBER_MAX, SearchChoice
from actors.search.progress import PruneCause, Search
from actors.search.tree import BranchView, Change, Open, Prune, SearchStrategy, SearchTree, prune_stuck


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam(SearchStrategy):
    """Beam search, or breadth-first search if the width is unlimited.

    A layer is the set of steps at one depth of the workflow. A layer ends with a barrier: no branch begins the next
    layer before all branches have finished this layer. At the barrier the branches are compared. Duplicates are pruned,
    the best `width` branches are kept, and each kept branch continues as `branching` branches. If fewer than `width`
    branches are left, the best branches continue as more than `branching` branches.

    Within a layer a branch retries with feedback. If the policy wants a branch to backtrack, the branch is pruned,
    unless no other branch can continue. So a beam of width 1 is depth-first search.
    """

    width: int | None
    """The number of branches that are kept at a barrier; None keeps all branches."""
    branching: int
    picks_best: bool = True

    def change(self, tree: SearchTree) -> Change | None:
        """Return the next change: prune stuck branches, duplicates and the worst branches, then open new branches."""
        front = tree.front
        pruning = prune_stuck(tree) or _prune_sent_back(front) or _prune_duplicate(tree.live)
        return pruning or self._change_at_barrier(tree, front) or _prune_spent(front)

    def _change_at_barrier(self, tree: SearchTree, front: list[BranchView]) -> Change | None:
        """Return the next change at a barrier; None if a branch has not reached the barrier, or no change is left."""
        if not front or any(branch.begun or branch.busy or branch.layer != front[0].layer for branch in front):
            return None
        top = front[0].layer == 0
        opened = [branch for branch in front if (branch.parent is not None if top else not branch.own)]
        if not opened and not top and self.width is not None and len(front) > self.width:
            worst = min(front, key=lambda branch: branch.rank)
            return Prune(worst.branch, PruneCause.RANK, f"{self.width} other branches rank higher")
        parents = [branch for branch in front if branch not in opened]
        wanted = self.branching * (len(parents) if self.width is None else self.width)
        parents = parents or front
        places = min(wanted, tree.left) - len(front)  # No branch is opened without a call left for its first attempt.
        if places <= 0 or len(tree.branches) >= self.branches_max:
            return None
        children = {parent.branch: sum(1 for child in opened if child.parent == parent.branch) for parent in parents}
        best = min(parents, key=lambda parent: (children[parent.branch], *(-part for part in parent.rank)))
        return Open(best.branch, "one more branch continues from here")

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:
        """Return whether all branches have finished the layer before."""
        if self.width == self.branching == 1:
            return True
        last = branch.waiting or branch.layer <= min((other.layer for other in tree.front), default=0)
        return last and layer <= branch.layer

    def slice_of(self, calls: int) -> int | None:
        """Return an equal share of the calls for each branch of the beam; None if the width is unlimited."""
        return None if self.width is None else calls // (self.width * self.branching)


def _prune_sent_back(front: list[BranchView]) -> Prune | None:
    back = [branch for branch in front if branch.back]
    if not back or len(front) == 1:
        return None
    worst = min(back, key=lambda branch: branch.rank)
    return Prune(worst.branch, PruneCause.BACK, "this branch must go back, but another branch can go on")


def _prune_spent(front: list[BranchView]) -> Prune | None:
    """Return the pruning of the worst branch without calls left in its share; None if no other branch can continue."""
    lowest = min((branch.layer for branch in front), default=0)
    spent = [branch for branch in front if branch.spent and not branch.busy and branch.layer == lowest]
    if not spent or len(front) == 1:
        return None
    worst = min(spent, key=lambda branch: branch.rank)
    return Prune(worst.branch, PruneCause.CALLS, "the branch has used up its share of the calls")


def _prune_duplicate(live: list[BranchView]) -> Prune | None:
    seen: dict[tuple[str, ...], int] = {}
    for branch in live:
        if branch.layer and branch.own and not branch.begun and branch.texts in seen:
            older = seen[branch.texts]
            return Prune(branch.branch, PruneCause.DUPLICATE, f"branch {older} has the same artifacts")
        seen.setdefault(branch.texts, branch.branch)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BestFirst(SearchStrategy):
    """Depth-first search that keeps promising branches open when it backtracks, and can return to them.

    If the rejected step has attempts left and a score above 0, the search keeps the branch open, and a new branch
    backtracks instead. The open branch with the lowest estimate of calls continues; among equal estimates, the newest
    branch. A branch that was kept open uses up the attempts that its rejected step has left. After that, it is pruned
    if another branch is left, and backtracks otherwise.

    If every score is 0 or 1, no branch is kept open, and the search makes the same attempts as depth-first search
    (S10).
    """

    width: int
    """The largest number of branches that are kept open, not counting the newest branch."""

    def change(self, tree: SearchTree) -> Change | None:
        """Return the next change: open a branch that backtracks in place of a promising branch, or prune a branch."""
        front = tree.front
        parents = {branch.parent for branch in tree.branches}
        for branch in front:
            if branch.back and branch.branch in parents and len(front) > 1:
                return Prune(branch.branch, PruneCause.BACK, "another branch goes back from here instead")
            promising = branch.back and branch.retryable and branch.promise > 0 and not branch.busy
            if promising and len(tree.branches) < self.branches_max and tree.left > 0:
                return Open(branch.branch, "the policy goes back from here, but the old branch is kept open")
        kept_open = [branch for branch in front if branch.branch in parents and not branch.busy]
        if len(kept_open) > self.width:
            worst = max(kept_open, key=_estimate_calls)
            return Prune(worst.branch, PruneCause.RANK, f"{self.width} other branches have better estimates")
        return prune_stuck(tree)

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:
        """Return whether no other branch is busy and this branch has the lowest estimate of calls."""
        del layer
        if any(other.busy and other.branch != branch.branch for other in tree.front):
            return False
        candidates = tree.front or tree.live  # A branch that waits for a person may have other steps to continue with.
        return branch.branch == min(candidates, key=lambda other: (_estimate_calls(other), -other.branch)).branch


def _estimate_calls(branch: BranchView) -> float:
    """Return an estimate of the calls that the branch needs in all to reach the goal.

    The estimate is `path_calls + (1 - promise) * rest`: with a perfect score (1), the remaining calls count nothing.
    """
    return branch.path_calls + (1.0 - branch.promise) * branch.rest


@dataclass(frozen=True, slots=True, kw_only=True)
class IterativeDeepening(SearchStrategy):
    """Depth-first search with a limit of calls that doubles with each iteration.

    An iteration is a branch. An iteration ends when it is stuck or has used up its limit. The next iteration starts
    with the artifacts that the ended iteration has accepted, so no artifact is generated twice. Visits and attempts are
    reset. The last iteration has no limit, so it is a complete depth-first search.
    """

    caps: list[int]

    def change(self, tree: SearchTree) -> Change | None:
        """Return the next change: prune an iteration that is stuck or has no calls left, then open the next one."""
        last = tree.branches[-1]
        if not last.live:
            return Open(last.branch, f"iteration {len(tree.branches) + 1}", anew=True)
        if last.done or last.waiting or last.busy or last.back or last.branch >= len(self.caps):
            return None
        if last.calls >= self.caps[last.branch]:
            why = f"the iteration has used up its limit of {self.caps[last.branch]} calls"
            return Prune(last.branch, PruneCause.CALLS, why)
        return Prune(last.branch, PruneCause.STUCK, "nothing is left to try in this branch") if last.stuck else None

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:
        """Return whether the iteration has calls left."""
        del tree, layer
        return branch.branch >= len(self.caps) or branch.calls < self.caps[branch.branch]


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOf(SearchStrategy):
    """A baseline: independent branches (samples), each from the first step, run at the same time. The best plan wins.

    A sample gets no feedback from other samples, so two samples differ only by the model's randomness.
    """

    moves: Search = Search.LINEAR
    picks_best: bool = True

    def change(self, tree: SearchTree) -> Change | None:
        """Return the next change: open all samples, at most one for each allowed call; then prune stuck samples."""
        if len(tree.branches) < min(self.branches_max, tree.calls):
            return Open(None, "an independent sample")
        return prune_stuck(tree)

    def slice_of(self, calls: int) -> int | None:
        """Return an equal share of the calls for each sample."""
        return calls // self.branches_max


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(SearchStrategy):
    """A baseline: independent branches (samples), one after another, until a sample reaches the goal."""

    moves: Search = Search.LINEAR

    def change(self, tree: SearchTree) -> Change | None:
        """Return the next change: if the last sample is stuck, prune it, then open a new sample.

        A stuck sample without calls is kept, because a new sample would have the same result.
        """
        last = tree.branches[-1]
        if not last.live:
            return Open(None, "a fresh start")
        if last.stuck and last.calls and len(tree.branches) < self.branches_max:
            return Prune(last.branch, PruneCause.STUCK, "nothing is left to try in this branch")
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class OneBranch(SearchStrategy):
    """A search with only one branch, so the strategy has nothing to decide."""

    branches_max: int = 1
    compares: bool = False

    def change(self, tree: SearchTree) -> Change | None:
        """Return None, because no branch is opened or pruned."""
        del tree
        return None


def strategy_of(choice: SearchChoice, graph: Graph) -> SearchStrategy:
    """Return the strategy for a search and the workflow's graph."""
    first = choice.numbers[0] if choice.numbers else None
    linear, worst, layers = linear_calls(graph), worst_case_calls(graph), graph.layers
    match choice.name:
        case "beam":
            width, branching = choice.numbers
            assert width is not None
            assert branching is not None
            most = 1 if width == branching == 1 else width * branching * len(layers)
            return Beam(width=width, branching=branching, branches_max=most, calls_worst=most * worst)
        case "breadth_first":
            assert first is not None
            layer_calls = [sum(_visit_calls(graph, step) for step in layer) for layer in layers]
            calls = sum(first ** (number + 1) * visit for number, visit in enumerate(layer_calls))
            most = min(NUMBER_MAX, first ** len(layers))
            return Beam(width=None, branching=first, moves=Search.LINEAR, branches_max=most, calls_worst=calls)
        case "best_first":
            assert first is not None
            back = sum(budget.backtrack_budget for budget in graph.budgets.values() if not budget.deterministic)
            return BestFirst(width=first, branches_max=1 + back, calls_worst=(1 + back) * worst)
        case "iterative_deepening":
            caps = _doubling_caps(first or happy_calls(graph), worst)
            return IterativeDeepening(caps=caps, branches_max=len(caps) + 1, calls_worst=sum(caps) + worst)
        case "restart" | "best_of":
            assert first is not None
            strategy = Restart if choice.name == "restart" else BestOf
            return strategy(branches_max=first, calls_worst=first * linear)
        case name:
            moves = Search(name)
            return OneBranch(moves=moves, calls_worst=linear if moves is Search.LINEAR else worst)


def _doubling_caps(first: int, worst: int) -> list[int]:
    """Return the limits of calls for all iterations except the last, which has no limit.

    Each limit doubles the previous one.

    All limits are below `worst`.
    """
    caps = [max(1, first)]
    while caps[-1] < worst:
        caps.append(2 * caps[-1])
    return caps[:-1]


def _visit_calls(graph: Graph, step: str) -> int:
    budget = graph.budgets[step]
    return 0 if budget.deterministic else budget.rmax * budget.calls
