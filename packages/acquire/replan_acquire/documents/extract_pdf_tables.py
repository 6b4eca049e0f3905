"""Finds the tables of PDF pages, and joins the parts of a table on several pages. Used only by `extract_main`.

A table continues on the next page if this page begins with a table of the same columns. Between the two, there must be
nothing except running titles and page numbers. Rows that repeat the table's header are omitted. If the end of a page
divides a row, its parts are joined, unless both parts have a number in the same column. Each cell of the joined row
gets the place of the part with the number.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pdfplumber.page import Page
from pdfplumber.table import Table

from replan_acquire.documents.tables import HEADERS_MAX, is_header
from replan_acquire.documents.text_document import LIGATURES

Box = tuple[float, float, float, float]
"""A box in points from the page's upper left corner: left, top, right, bottom."""
NEAR = 3.0
"""The largest distance in points at which two lines count as touching."""
LEAST_LENGTH = 5.0
"""The least length, in points, of a drawn line that counts as a line of a table."""
MARGIN = 0.15
"""A fraction of a page's height. A table may be cut off only if its vertical lines end within this distance from the
page's top or bottom."""
_CONTINUED = re.compile(r"cont\.|continued|fortsetzung|fortgesetzt|suite|continua", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of a table.

    The three lists have one entry for each cell: its text, its place, and its number of lines of text.
    """

    cells: list[str]
    places: list[str]
    lines: list[int]


@dataclass(slots=True)
class FoundTable:
    """A table on one page. It may be a part of a table that covers several pages."""

    page: int
    bbox: Box
    columns: tuple[float, ...]
    """The left edges of the columns, in points."""
    rows: list[FoundRow]
    doubtful: list[FoundRow]
    """The rows with cells that span several columns or rows. It is uncertain to which column such a cell belongs."""
    merged: bool
    cut_above: bool
    """Whether the first row has no line above it. If so, it may continue a row of the previous page."""
    cut_below: bool
    """Whether the last row has no line below it. If so, it may continue on the next page."""

    joined: bool = False
    """Whether this table's rows were added to a table of an earlier page."""

    def blocks(self) -> list[dict[str, Any]]:
        """Return the rows as one block of a document, and the doubtful rows as another block.

        A block without rows is not returned.
        """
        found = [(self.rows, self.merged), (self.doubtful, True)]
        return [
            {"kind": "table", "rows": [{"cells": row.cells, "places": row.places} for row in rows], "merged": merged}
            for rows, merged in found
            if rows
        ]


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page."""

    number: int
    tables: list[FoundTable]
    """The ruled tables. The tables of the page. A table with only one row is used only as a part of another table."""
    lines: list[Mapping[str, Any]]
    boxes: list[Mapping[str, Any]]
    """The boxes of paragraphs. Each line of a paragraph is inside the paragraph's box."""


def find_tables(page: Page, number: int) -> list[FoundTable]:
    """Return the ruled tables of a page. A table with one row is included, because it may continue another table."""
    above, below = _missing_lines(page)
    tables = page.find_tables({"explicit_horizontal_lines": [*above, *below]} if above or below else {})
    found = [_find_table(table, number, above, below) for table in tables if _has_columns(table)]
    if any(_is_unruled(item) for item in found):
        tables = page.find_tables()
        found = [_find_table(table, number, (), ()) for table in tables if _has_columns(table)]
    return found


def _has_columns(table: Table) -> bool:
    return len(table.cells) > len(table.rows)


def _is_unruled(table: FoundTable) -> bool:
    """Return whether the row at the end or beginning of a cut table may be several rows without lines between them."""
    cut = [table.rows[0]] if table.cut_above else []
    cut += [table.rows[-1]] if table.cut_below else []
    return any(sum(lines > 1 for lines in row.lines) > 1 for row in cut)


def _missing_lines(page: Page) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the horizontal lines that are missing because a page break cuts a table: at the page's top, and bottom.

    A table is cut off if its vertical lines end near the edge of the page, and no horizontal line connects their ends.
    """
    vertical = [edge for edge in page.edges if edge["orientation"] == "v" and edge["height"] >= LEAST_LENGTH]
    level = [edge for edge in page.edges if edge["orientation"] == "h" and edge["width"] >= LEAST_LENGTH]
    if not vertical:
        return [], []
    first, last = min(item["top"] for item in vertical), max(item["bottom"] for item in vertical)
    height = float(page.height)
    above = [item for item in vertical if item["top"] <= first + NEAR] if first <= height * MARGIN else []
    below = [item for item in vertical if item["bottom"] >= last - NEAR] if last >= height * (1 - MARGIN) else []
    return _closing_lines(above, first, level), _closing_lines(below, last, level)


def _closing_lines(
    upright: Sequence[Mapping[str, Any]], at: float, level: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a list with the horizontal line that would connect the ends of vertical lines at the height `at`.

    The list is empty if such a line exists already, or if it would be too short.
    """
    x0, x1 = min((item["x0"] for item in upright), default=0), max((item["x0"] for item in upright), default=0)
    closed = any(abs(item["top"] - at) <= NEAR and item["x1"] > x0 and item["x0"] < x1 for item in level)
    if x1 - x0 < LEAST_LENGTH or closed:
        return []
    return [{"object_type": "line", "x0": x0, "x1": x1, "top": at, "bottom": at, "width": x1 - x0, "height": 0}]


def _find_table(
    table: Table, number: int, above: Iterable[Mapping[str, Any]], below: Iterable[Mapping[str, Any]]
) -> FoundTable:
    rows: list[FoundRow] = []
    doubtful: list[FoundRow] = []
    merged, heads = False, True
    for row, cells in zip(table.rows, table.extract(), strict=True):
        filled = [" ".join((cell or "").translate(LIGATURES).split()) for cell in cells]
        places = [place_of(number, box if box is not None else row.bbox) for box in row.cells]
        new_row = FoundRow(filled, places, [len((cell or "").strip().split("\n")) for cell in cells])
        spans = _has_spanning_cell(row.cells, filled)
        heads = heads and (spans or is_header(filled) or not any(filled[1:]))
        merged = merged or (spans and heads)
        (doubtful if spans and not heads else rows).append(new_row)
    if len(doubtful) > len(rows) / 3 or merged:
        rows, doubtful, merged = sorted([*rows, *doubtful], key=_top), [], bool(merged or doubtful)
    return FoundTable(
        page=number,
        bbox=table.bbox,
        columns=tuple(sorted({round(cell[0]) for cell in table.cells})),
        rows=rows,
        doubtful=doubtful,
        merged=merged,
        cut_above=any(abs(table.bbox[1] - item["top"]) <= NEAR for item in above),
        cut_below=any(abs(table.bbox[3] - item["top"]) <= NEAR for item in below),
    )


def _has_spanning_cell(boxes: Sequence[Box | None], texts: Sequence[str]) -> bool:
    """Return whether a row has a cell over several columns, or a cell with a number over several rows.

    For a row of only one cell, which is a title, the result is False.
    """
    there = [(box, text) for box, text in zip(boxes, texts, strict=True) if box is not None]
    if len(there) < 2:
        return False
    bottom = min(box[3] for box, _ in there)
    tall = any(box[3] > bottom + NEAR and any(map(str.isdigit, text)) for box, text in there)
    return tall or len(there) < len(boxes)


def _top(row: FoundRow) -> float:
    """Return the top of a row in points: the second number in the box of its first cell."""
    return float(row.places[0].split()[4])


def place_of(page: int, box: Sequence[float]) -> str:
    """Return the place of a box on a page, as text."""
    return f"page {page}, box {' '.join(str(round(edge)) for edge in box)}"


def join_tables(pages: Sequence[PageContent]) -> None:
    """If a table continues a table of the previous page, append its rows to that table.

    The continuing table is marked as joined.
    """
    counts = Counter(title for page in pages for title in {_title(line["text"]) for line in page.lines})
    running = frozenset(title for title, count in counts.items() if count > 1)
    whole: FoundTable | None = None
    for before, page in itertools.pairwise(pages):
        above = max(before.tables, key=lambda item: item.bbox[3], default=None)
        below = min(page.tables, key=lambda item: item.bbox[1], default=None)
        if above is None or below is None:
            whole = None
            continue
        whole = whole if above.joined and whole is not None else above
        left = [item for item in before.lines if item["top"] >= above.bbox[3] - NEAR]
        left += [item for item in page.lines if item["bottom"] <= below.bbox[1] + NEAR]
        if all(_is_running(item["text"], running) for item in left) and _continues_on_page(whole, above, below):
            _add_rows(whole, below, cut=above.cut_below or below.cut_above)
            below.joined = True


def _title(text: str) -> str:
    return _DIGITS.sub("#", " ".join(text.split()))


def _is_running(text: str, running: frozenset[str]) -> bool:
    """Return whether a line is a running title, a page number, or a note that the table continues."""
    return _title(text) in running or not any(map(str.isalpha, text)) or _CONTINUED.search(text) is not None


def _continues_on_page(whole: FoundTable, above: FoundTable, below: FoundTable) -> bool:
    """Return whether `below`, at the top of the next page, continues the table `whole`, whose last part is `above`."""
    if len(above.columns) != len(below.columns):
        return False
    if any(abs(one - other) > NEAR for one, other in zip(above.columns, below.columns, strict=True)):
        return False
    names = below.rows[0].cells
    return above.cut_below or below.cut_above or names == whole.rows[0].cells or not is_header(names)


def _add_rows(whole: FoundTable, below: FoundTable, *, cut: bool) -> None:
    rows = list(below.rows)
    for head in whole.rows[:HEADERS_MAX]:
        if not rows or rows[0].cells != head.cells:
            break
        rows = rows[1:]
    if rows and len(whole.rows) > 1 and _is_divided(whole.rows[-1], rows[0], cut=cut):
        whole.rows[-1] = _join_rows(whole.rows[-1], rows[0])
        rows = rows[1:]
    whole.rows += rows
    whole.doubtful += below.doubtful
    whole.merged = whole.merged or below.merged


def _is_divided(above: FoundRow, below: FoundRow, *, cut: bool) -> bool:
    """Return whether two rows are parts of one row.

    The rows are separate if a cell would contain two numbers after joining. If the page break does not cut the table's
    lines, two conditions must be met. The second row must not begin with a capital letter, and no column after the
    first may have text in both rows.
    """
    pairs = list(zip(above.cells, below.cells, strict=True))
    if any(one[-1:].isdigit() and other[:1].isdigit() for one, other in pairs):
        return False
    begins = below.cells[0][:1]
    halves = all(not one or not other for one, other in pairs[1:]) and any(one or other for one, other in pairs[1:])
    return cut or (halves and (begins.islower() if begins else not any(above.cells[1:])))


def _join_rows(above: FoundRow, below: FoundRow) -> FoundRow:
    """Join two parts of a row, and return the row.

    The place of a joined cell is that of the part with a number. If both parts have a number or neither has one, it has
    both places.
    """
    cells, places = [], []
    for one, other, first, second in zip(above.cells, below.cells, above.places, below.places, strict=True):
        cells.append(f"{one} {other}".strip())
        numbers = [any(map(str.isdigit, item)) for item in (one, other)]
        if one and other and numbers[0] == numbers[1]:
            places.append(f"{first} to {second}")
        else:
            places.append(second if not one or numbers == [False, True] else first)
    return FoundRow(cells, places, above.lines)
