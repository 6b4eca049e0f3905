"""A long tree of lines in pages: a part of its rows, with the lines that they are under. Pure."""

import operator
from dataclasses import dataclass, replace

from actors.values.lines import LineTree


@dataclass(frozen=True, slots=True)
class TreePage:
    """A part of a tree."""

    children: tuple[LineTree, ...]
    """The rows of the page, each under the lines that it is under in the whole tree."""
    number: int
    """The number of the page, from 0."""
    pages: int
    """How many pages there are; at least one."""
    rows: int
    """The rows of the whole tree."""


def tree_page(tree: LineTree, most: int, number: int | None = None) -> TreePage:
    """Return a page of at most `most` rows below the top line; without a number the last one, which has the newest.

    The lines above the first row of a page are repeated and not counted.
    """
    rows = _count(tree) - 1
    pages = max(1, -(-rows // most))
    shown = pages - 1 if number is None else min(number, pages - 1)
    begin = shown * most
    part, _ = _part(tree, begin + 1, begin + 1 + most, 0)
    return TreePage(() if part is None else part.children, shown, pages, rows)


def _count(tree: LineTree) -> int:
    count, left = 0, [tree]
    while left:
        each = left.pop()
        count += 1
        left += each.children
    return count


def _part(tree: LineTree, begin: int, end: int, place: int) -> tuple[LineTree | None, int]:
    """Return the part of a tree with the rows from `begin` to before `end`, and the place after the tree's last row."""
    own, place = place, place + 1
    kept = []
    for child in tree.children:
        part, place = _part(child, begin, end, place)
        if part is not None:
            kept.append(part)
    if not kept and not begin <= own < end:
        return None, place
    whole = len(kept) == len(tree.children) and all(map(operator.is_, kept, tree.children))
    return tree if whole else replace(tree, children=tuple(kept)), place
