"""Depth-first, blind and linear search: one branch, in which the policy and the moves decide everything. Pure."""

from dataclasses import dataclass

from actors.search.moves import Search
from actors.search.strategies.tree import BranchView, Change, Tree


@dataclass(frozen=True, slots=True)
class OneBranch:
    """A search that never opens a second branch, so that there is nothing to compare."""

    moves: Search
    """As in `Strategy`."""
    calls_worst: int
    """As in `Strategy`."""
    branches_max: int = 1
    """As in `Strategy`."""
    compares: bool = False
    """As in `Strategy`."""
    picks_best: bool = False
    """As in `Strategy`."""

    def change(self, tree: Tree) -> Change | None:  # noqa: ARG002 - the protocol's signature
        """Open and prune nothing."""
        return None

    def may_ask(self, tree: Tree, branch: BranchView, layer: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """The branch may make attempts at any time."""
        return True

    def slice_of(self, calls: int) -> int | None:  # noqa: ARG002 - the protocol's signature
        """No slices: the branch has all calls."""
        return None
