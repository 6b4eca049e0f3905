"""Parts of long lists and of long trees, as many rows as a page shows. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from actors.values.lines import LineTree

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RowPage(Generic[T]):
    """Rows of something that has more."""

    shown: T
    """The rows."""
    begin: int
    """How many rows are left out before them."""
    count: int
    """How many rows there are from `begin` on; a tree shows the rows above them in addition."""
    total: int
    """How many rows there are in all."""

    @property
    def end(self) -> int:
        """How many rows there are up to the last one that is shown."""
        return self.begin + self.count


def row_page(rows: Sequence[T], begin: int, most: int) -> RowPage[Sequence[T]]:
    """Return at most `most` of some rows, without the first `begin`."""
    begin = min(begin, len(rows))
    shown = rows[begin : begin + most]
    return RowPage(shown, begin, len(shown), len(rows))


def tree_page(tree: LineTree, begin: int | None, most: int) -> RowPage[LineTree]:
    """Return at most `most` rows of a tree, in the order in which they are shown, and the rows that they stand under.

    Without `begin` they are the last ones. The top row does not count.
    """
    total = _rows(tree) - 1
    begin = max(0, total - most) if begin is None else min(begin, total)
    shown, _ = _cut(tree, -1, begin, begin + most)
    return RowPage(replace(tree, children=()) if shown is None else shown, begin, min(most, total - begin), total)


def _rows(tree: LineTree) -> int:
    return 1 + sum(map(_rows, tree.children))


def _cut(tree: LineTree, place: int, begin: int, end: int) -> tuple[LineTree | None, int]:
    """Return what is left of a tree whose top row has the number `place`, and the number of the row after it."""
    top, kept = place, []
    place += 1
    for child in tree.children:
        left, place = _cut(child, place, begin, end)
        if left is not None:
            kept.append(left)
    if not kept and not begin <= top < end:
        return None, place
    return replace(tree, children=tuple(kept)), place
