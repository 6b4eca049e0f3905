"""The interface of a search strategy: its view of the search tree and of the ledger, and its decisions. Pure.

A *branch* is an independent search over the steps, with its own slots, visits, stagnation and feedback. A strategy
opens and prunes branches, and decides which branches may make the next attempt. Within a branch, the policy decides.
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
    """Whether the search decided to backtrack after a rejection and has not done so yet."""
    waiting: bool = False
    busy: bool = False
    begun: bool = False
    """Whether the branch has begun an attempt in its first layer that is not completely accepted."""
    own: bool = True
    """Whether an artifact of the last accepted layer was made in this branch, not inherited."""
    retryable: bool = False
    """Whether the rejected step that led to backtracking (`back`) has attempts left."""
    calls: int = 0
    path_calls: int = 0
    """The number of the branch's own calls, plus the calls of its ancestors before the branch was opened."""
    layer: int = 0
    rest: int = 0
    """The smallest number of further calls that can reach the goal."""
    score: float = 0.0
    """The mean score of the newest verdicts on accepted and rejected steps."""
    promise: float = 1.0
    """The lowest score of an unrepaired rejection; 1 if every rejection is repaired."""
    texts: tuple[str, ...] = ()
    """The texts of the artifacts in the accepted layers; empty after the next layer has begun."""

    @property
    def rank(self) -> tuple[int, float, int]:
        """The order of branches: by accepted layers, then by score, then by age. A greater value is better."""
        return self.layer, self.score, -self.branch


@dataclass(frozen=True, slots=True)
class SearchTree:
    """The facts about the whole search that a strategy sees."""

    branches: tuple[BranchView, ...]
    calls: int
    left: int
    """The number of calls that are neither made nor reserved."""
    live: list[BranchView] = field(init=False, compare=False)
    front: list[BranchView] = field(init=False, compare=False)
    """The live branches that can continue now: they are neither done nor waiting for a person."""

    def __post_init__(self) -> None:
        """Compute `live` and `front` once, because every decision reads them."""
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
    """Whether the strategy compares branches. If not, there is only one branch, without views and a tree."""
    picks_best: bool = False
    """Whether a plan with a score below 1 is held back until no other branch can reach a better plan."""
    branches_max: int
    calls_worst: int
    """The largest number of calls in one round. The limits of the run apply too."""

    @abstractmethod
    def change(self, tree: SearchTree) -> Change | None:
        """Return the next branch to open or to prune; None if there is no change."""

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:
        """Return whether a branch may begin an attempt at a step of a layer now."""
        del tree, branch, layer
        return True

    def slice_of(self, calls: int) -> int | None:
        """Return how many of `calls` are reserved for each live branch; None without reservations."""
        del calls
        return None


def prune_stuck(tree: SearchTree) -> Prune | None:
    """Prune the worst branch with nothing left to try, if another branch can continue."""
    stuck = [branch for branch in tree.front if branch.stuck]
    if not stuck or len(tree.front) == 1:
        return None
    worst = min(stuck, key=lambda branch: branch.rank)
    return Prune(worst.branch, PruneCause.STUCK, "nothing is left to try in this branch")
