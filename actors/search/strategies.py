"""The search with one branch, and the strategy that a search stands for, with the bounds that follow. Pure."""

from dataclasses import dataclass

from actors.search.graph import Graph, happy_calls, linear_calls, worst_case_calls
from actors.search.notation import NUMBER_MAX, SearchChoice
from actors.search.progress import Search
from actors.search.tree import (
    BranchView,
    Change,
    Open,
    Prune,
    PruneCause,
    SearchStrategy,
    SearchTree,
    prune_stuck,
)


@dataclass(frozen=True, slots=True)
class Beam:
    """Beam search, or breadth-first search if the width is unlimited."""

    width: int | None
    """The branches that are kept at a barrier; None: all."""
    branching: int
    """The branches by which each kept branch is continued."""
    moves: Search
    branches_max: int
    calls_worst: int
    compares: bool = True
    picks_best: bool = True

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


@dataclass(frozen=True, slots=True)
class BestFirst:
    """Best-first search with a limited number of open branches."""

    width: int
    """The most branches that are kept open besides the newest."""
    branches_max: int
    calls_worst: int
    moves: Search = Search.DEPTH_FIRST
    compares: bool = True
    picks_best: bool = False

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


@dataclass(frozen=True, slots=True)
class IterativeDeepening:
    """Iterative deepening over the number of calls."""

    first: int
    """The cap of the first iteration, in calls."""
    worst: int
    """The worst case of an iteration without a cap, in calls."""
    moves: Search = Search.DEPTH_FIRST
    compares: bool = True
    picks_best: bool = False

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


@dataclass(frozen=True, slots=True)
class _Samples:
    """The common part of both strategies."""

    samples: int
    """The most samples."""
    linear_calls: int
    """The worst case of one sample, in calls."""
    moves: Search = Search.LINEAR
    compares: bool = True

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


@dataclass(frozen=True, slots=True)
class OneBranch:
    """A search that never opens a second branch, so that there is nothing to compare."""

    moves: Search
    calls_worst: int
    branches_max: int = 1
    compares: bool = False
    picks_best: bool = False

    def change(self, tree: SearchTree) -> Change | None:  # noqa: ARG002 - the protocol's signature
        """Open and prune nothing."""
        return None

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return True: the branch may make attempts at any time."""
        return True

    def slice_of(self, calls: int) -> int | None:  # noqa: ARG002 - the protocol's signature
        """No slices: the branch has all calls."""
        return None


def strategy_of(choice: SearchChoice, graph: Graph) -> SearchStrategy:
    """Return the strategy of a search."""
    first = choice.numbers[0] if choice.numbers else None
    linear, worst, layers = linear_calls(graph), worst_case_calls(graph), graph.layers
    match choice.name:
        case "beam":
            width, branching = choice.numbers
            assert width is not None
            assert branching is not None
            most = 1 if width == branching == 1 else width * branching * len(layers)
            return Beam(width, branching, Search.DEPTH_FIRST, most, most * worst)
        case "breadth_first":
            assert first is not None
            layer_calls = [sum(_visit_calls(graph, step) for step in layer) for layer in layers]
            calls = sum(first ** (number + 1) * visit for number, visit in enumerate(layer_calls))
            return Beam(None, first, Search.LINEAR, min(NUMBER_MAX, first ** len(layers)), calls)
        case "best_first":
            assert first is not None
            back = sum(budget.backtrack_budget for budget in graph.budgets.values() if not budget.deterministic)
            return BestFirst(first, 1 + back, (1 + back) * worst)
        case "iterative_deepening":
            return IterativeDeepening(first or happy_calls(graph), worst)
        case "restart":
            assert first is not None
            return Restart(first, linear)
        case "best_of":
            assert first is not None
            return BestOf(first, linear)
        case name:
            moves = Search(name)
            return OneBranch(moves, linear if moves is Search.LINEAR else worst)


def _visit_calls(graph: Graph, step: str) -> int:
    """Return the most calls of one visit of a step."""
    budget = graph.budgets[step]
    return 0 if budget.deterministic else budget.rmax * budget.calls
