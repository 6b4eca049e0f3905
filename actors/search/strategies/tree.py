"""What a strategy sees of the search tree and the ledger, and what it may decide. Pure values.

A *branch* is one search of its own over the steps: its own slots, visits, stagnation and feedback. A strategy opens
branches, prunes them, and says which of them may ask for an attempt; what happens inside a branch is a matter of moves
and policy (`actors.search.moves`), as in a run that has only one.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from actors.search.moves import Search


class PruneCause(StrEnum):
    """Why a branch was pruned."""

    STUCK = "stuck"  # nothing is left to try in it
    DUPLICATE = "duplicate"  # another branch has the same artifacts
    RANK = "rank"  # better ones fill the beam
    BACK = "back"  # it would have to go back, where others have not
    CALLS = "calls"  # its slice of the calls is used up


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a branch stands.

    `calls` are its own, tries included; `path_calls` also those of the path that it was opened on. `layer` counts the
    layers of the workflow that are accepted as a whole, from the top; `begun` tells whether an attempt of the next one
    has been made or is under way; `own` whether an artifact of the last accepted one was made in this branch. `rest`
    is the least number of calls to the goal. `score` is the mean score of the verdicts that count now, `promise` the
    worst of the rejections that are to be mended, 1 without any; `mendable` says that such a step has attempts left.
    `made` are the texts of the accepted layers. `failed` says that a rejection is to be decided about, `halted`
    that nothing is asked for because a step is stuck; `ready` are the steps that an attempt can be made at. A branch is
    `stuck` when nothing is left to try in it, `spent` when its slice of the calls is used up, `back` when a decision
    would send it back, `waiting` when a person has to answer.
    """

    branch: int
    parent: int | None = None
    live: bool = True
    done: bool = False
    stuck: bool = False
    spent: bool = False
    back: bool = False
    waiting: bool = False
    busy: bool = False
    begun: bool = False
    own: bool = True
    mendable: bool = False
    calls: int = 0
    path_calls: int = 0
    layer: int = 0
    rest: int = 0
    score: float = 0.0
    promise: float = 1.0
    made: tuple[str, ...] = ()
    failed: bool = False
    halted: bool = False
    ready: tuple[str, ...] = ()

    @property
    def rank(self) -> tuple[int, float, int]:
        """What branches are compared by: how far, how good, and the older first. Greater is better."""
        return self.layer, self.score, -self.branch


@dataclass(frozen=True, slots=True)
class Tree:
    """All branches in the order in which they were opened; `calls` is the limit of the run, `left` what is free.

    `live` are the branches that are not pruned, and `front` those of them that could go on now: not done, and waiting
    for nobody.
    """

    branches: tuple[Standing, ...]
    calls: int
    left: int
    live: list[Standing] = field(init=False, compare=False)
    front: list[Standing] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the branches once: every question to the tree is about some of them."""
        live = [one for one in self.branches if one.live]
        object.__setattr__(self, "live", live)
        object.__setattr__(self, "front", [one for one in live if not one.done and not one.waiting])


@dataclass(frozen=True, slots=True)
class Open:
    """Open a branch: on the accepted artifacts of `parent`, or on nothing. `anew` gives all counts back."""

    parent: int | None
    why: str
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Prune:
    """End a branch: its open work is withdrawn, and what it has not reserved of its slice is free."""

    branch: int
    cause: PruneCause
    why: str


Change = Open | Prune


class Strategy(Protocol):
    """What to do next among branches. Total functions of the tree: the same tree gives the same answer.

    `moves` is what happens inside a branch; `picks_best` says that a plan whose verdict is not the best possible is
    held until no other branch can do better. `branches_max` is the most branches of a run, `calls_worst` the most calls
    of a round; the run's limits cap both.
    """

    @property
    def moves(self) -> Search:
        """What happens inside a branch."""
        ...

    @property
    def picks_best(self) -> bool:
        """Whether plans of several branches are compared."""
        ...

    @property
    def branches_max(self) -> int:
        """The most branches that are opened."""
        ...

    @property
    def calls_worst(self) -> int:
        """The most calls in one round."""
        ...

    def change(self, tree: Tree) -> Change | None:
        """Return the branch to open or to prune next, or None."""
        ...

    def may_ask(self, tree: Tree, one: Standing, layer: int) -> bool:
        """Tell whether a branch may ask for an attempt at a step of a layer now."""
        ...

    def slice_of(self, calls: int) -> int | None:
        """Return the calls that each live branch is sure of, or None when no branch is."""
        ...


def hopeless(tree: Tree) -> Prune | None:
    """Return the pruning of a branch in which nothing is left to try, as long as another can go on: the worst first."""
    stuck = [one for one in tree.front if one.stuck]
    if not stuck or len(tree.front) == 1:
        return None
    return Prune(min(stuck, key=lambda one: one.rank).branch, PruneCause.STUCK, "nothing is left to try in it")
