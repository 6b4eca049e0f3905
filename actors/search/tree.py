"""The interface of a search strategy: the facts that a strategy sees, and the changes that it can make. Pure.

A *branch* is an independent search over the steps, with its own slots, visits, stagnation and feedback. A strategy
opens and prunes branches, and decides which branches may make the next attempt. The policy makes the decisions inside a
branch.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from actors.search.progress import PruneCause, Search


@dataclass(frozen=True, slots=True)
class BranchView:
    """The facts about one branch that a strategy sees."""

    branch: int
    parent: int | None = None
    live: bool = True
    done: bool = False
    stuck: bool = False
    spent: bool = False
    back: bool = False
    """Whether the policy has decided that the branch must backtrack, and the branch has not yet done so."""
    waiting: bool = False
    busy: bool = False
    begun: bool = False
    """Whether the branch has begun an attempt in layer `layer`."""
    own: bool = True
    """Whether this branch made at least one artifact of its last accepted layer itself, instead of inheriting all from
    its parent.
    """
    retryable: bool = False
    """If `back` is set: whether the rejected step has attempts left."""
    calls: int = 0
    path_calls: int = 0
    """The number of the branch's own calls, plus the calls that its ancestors had made when the branch was opened."""
    layer: int = 0
    rest: int = 0
    """The smallest number of further calls that can reach the goal."""
    score: float = 0.0
    """The mean of the scores in the newest verdicts on the branch's steps."""
    promise: float = 1.0
    """The lowest score among rejections that no later acceptance has repaired; 1 without such a rejection."""
    texts: tuple[str, ...] = ()
    """The texts of all artifacts in the accepted layers. The tuple is empty after the next layer has begun."""

    @property
    def rank(self) -> tuple[int, float, int]:
        """The sort key for branches: accepted layers, then score, then age. The greatest key is best."""
        return self.layer, self.score, -self.branch


@dataclass(frozen=True, slots=True)
class SearchTree:
    """The facts about all branches that a strategy sees."""

    branches: tuple[BranchView, ...]
    calls: int
    left: int
    """The number of calls that are neither made nor reserved."""
    live: list[BranchView] = field(init=False, compare=False)
    front: list[BranchView] = field(init=False, compare=False)
    """The live branches that can continue now: they are neither done nor waiting for a person."""

    def __post_init__(self) -> None:
        """Compute `live` and `front` once, because strategies read both in every decision."""
        live = [branch for branch in self.branches if branch.live]
        object.__setattr__(self, "live", live)
        object.__setattr__(self, "front", [branch for branch in live if not branch.done and not branch.waiting])


@dataclass(frozen=True, slots=True)
class Open:
    """The change that opens a branch."""

    parent: int | None
    why: str
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Prune:
    """The change that ends a branch: its open requests are withdrawn, and its remaining share becomes free."""

    branch: int
    cause: PruneCause
    why: str


Change = Open | Prune


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStrategy(ABC):
    """Decides which branches exist and which may continue.

    All methods are pure functions of the tree that never fail.
    """

    moves: Search = Search.DEPTH_FIRST
    compares: bool = True
    """Whether the strategy compares branches. Otherwise the search has only one branch, and computes no `SearchTree`.
    """
    picks_best: bool = False
    """Whether a plan with a score below 1 must wait until no other branch can reach a better plan."""
    branches_max: int
    calls_worst: int
    """The largest number of calls that the search makes in one round. The run's own limits can end it earlier."""

    @abstractmethod
    def change(self, tree: SearchTree) -> Change | None:
        """Return the next change, which opens or prunes one branch; None if the branches stay as they are."""

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:
        """Return whether a branch may begin an attempt at a step of a layer now."""
        del tree, branch, layer
        return True

    def slice_of(self, calls: int) -> int | None:
        """Return how many of `calls` each live branch has for itself; None if the branches share all calls."""
        del calls
        return None


def prune_stuck(tree: SearchTree) -> Prune | None:
    """Return the pruning of the worst stuck branch; None if no branch is stuck, or no other branch can continue."""
    stuck = [branch for branch in tree.front if branch.stuck]
    if not stuck or len(tree.front) == 1:
        return None
    worst = min(stuck, key=lambda branch: branch.rank)
    return Prune(worst.branch, PruneCause.STUCK, "nothing is left to try in this branch")
