"""Writes the rows of a table as lines of text, with the name of the column before each cell.

If a table has no header or has merged cells, the names of its columns are uncertain, and the cells get no names.
Numbers in such a table are not used (`replan_acquire.quantities.headings`).
"""

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import NamedTuple

from replan_acquire.quantities.headings import MERGED

COLUMNS_MAX = 100
CAPTION_MAX = 200
"""The largest number of characters of a table's caption that are repeated in the table's rows."""
HEADERS_MAX = 3
"""The largest number of rows at the top of a table that are read as the names of the table's columns."""

Row = tuple[int, Sequence[str]]
"""A row of a table: the number of its line in the file, and its cells."""

_NUMBER = re.compile(r"[-+(]?\s*[€$£¥]?\s*\d[\d.,'\s\u00a0\u2009\u202f]*\s*(?:[%€$£¥]|[^\W\d_]{1,4})?\)?")
_BETWEEN = " | "
_YEAR = re.compile(r"(?:19|20)\d\d")
_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?")
_EMPTY = frozenset({"", "-", "\u2013", "\u2014", "n/a", "na", "k.a.", "nd", "n.d.", "..", "..."})


class PlacedRow(NamedTuple):
    """A row of a table as a line of text."""

    line: int
    text: str
    cells: tuple[tuple[int, int], ...]
    """For each cell, the offset at which it begins in the text, and the number of its column, from 0."""


def row_texts(rows: Sequence[Row], caption: str = "", *, merged: bool = False) -> list[tuple[int, str]]:
    """Return the line numbers and texts of the rows that `place_rows` returns."""
    return [(row.line, row.text) for row in place_rows(rows, caption, merged=merged)]


def place_rows(rows: Sequence[Row], caption: str = "", *, merged: bool = False) -> list[PlacedRow]:
    """Return the rows of one table as lines.

    The first row names the columns if none of its cells is a number; further rows may add units or parts of names.
    `caption` is the line over the table. A caption with a scale or unit is repeated in each row. `merged` tells whether
    some cells span several columns.
    """
    wide = [row for row in rows if sum(map(bool, row[1])) > 1]
    if merged:
        return [_place_without_names(line, cells, f"{MERGED}{_BETWEEN}") for line, cells in rows if any(cells)]
    lines: list[PlacedRow] = []
    begins = next((position for position, row in enumerate(rows) if row in wide), len(rows))
    for line, cells in rows[:begins]:  # A title over the table.
        if any(cells):
            lines.append(_place_without_names(line, cells))
            caption = f"{caption} {_join_cells(cells)}".strip()
    heads = _count_headers(rows[begins:])
    names = _names([cells for _, cells in rows[begins : begins + heads]])
    lines += [_place_without_names(line, cells) for line, cells in rows[begins : begins + heads]]
    before = f"({caption[:CAPTION_MAX].replace('|', '/')}) | " if _says_a_unit(caption) else ""
    lines += [_name_cells(line, before, names, cells) for line, cells in rows[begins + heads :] if any(cells)]
    return lines


def _says_a_unit(caption: str) -> bool:
    return re.search(r"\b(?:in|en)\s|[(\[%€$£]", caption, re.IGNORECASE) is not None


def is_header(cells: Sequence[str]) -> bool:
    """Return whether a row may name columns: it has several cells, and no numbers other than years."""
    filled = [cell for cell in cells if cell]
    return len(filled) > 1 and not any(_is_number(cell) for cell in filled)


def _count_headers(rows: Sequence[Row]) -> int:
    """Return how many rows name the columns: the first row, and the next rows with units or parts of names."""
    if not rows or any(_is_number(cell) for cell in rows[0][1]):
        return 0
    heads = 1
    for (_, above), (_, cells) in itertools.pairwise(rows[: HEADERS_MAX + 1]):
        grouped = "" in above[1:] or len({*above}) < len(above)
        units = any(cell.startswith(("(", "[", "%", "€", "$", "£", "in ")) for cell in cells)
        if not is_header(cells) or not (grouped or units) or {cell.lower() for cell in cells} & (_EMPTY - {""}):
            break
        heads += 1
    return heads


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell)) and not _YEAR.fullmatch(cell)


def _names(headers: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the columns; empty for a column whose name is uncertain.

    If there are several header rows and one above the last has gaps, its names may span several columns. It is then
    uncertain which ones.
    """
    if not headers:
        return []
    width = max(map(len, headers))
    filled = [[*cells, *[""] * (width - len(cells))] for cells in headers]
    if len(filled) == 1:
        return filled[0]
    gaps = any(not cell for cells in filled[:-1] for cell in cells[1:])
    columns = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*filled, strict=True)]
    return ["" if gaps and position else name for position, name in enumerate(columns)]


def _name_cells(line: int, before: str, names: Sequence[str], cells: Sequence[str]) -> PlacedRow:
    padded = [*names, *[""] * (len(cells) - len(names))]
    named = [f"{name.replace('|', '/')}: {cell}" if name else cell for name, cell in zip(padded, cells, strict=False)]
    return _place_cells(line, before, [(column, text) for column, text in enumerate(named) if cells[column]])


def _place_without_names(line: int, cells: Sequence[str], before: str = "") -> PlacedRow:
    return _place_cells(line, before, list(enumerate(cells)))


def _place_cells(line: int, before: str, cells: Sequence[tuple[int, str]]) -> PlacedRow:
    at, places = len(before), []
    for column, text in cells:
        places.append((at, column))
        at += len(text) + len(_BETWEEN)
    return PlacedRow(line, before + _BETWEEN.join(text for _, text in cells), tuple(places))


def _join_cells(cells: Sequence[str]) -> str:
    return _BETWEEN.join(cells)


def markdown_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the lines of a Markdown text. In its tables, the name of the column is put before each cell."""
    found: list[tuple[int, str]] = []
    place = 0
    while place < len(lines):
        end = place
        while end < len(lines) and "|" in lines[end][1]:
            end += 1
        if end - place > 2 and _RULE.fullmatch(lines[place + 1][1].strip()):
            rows = [(number, _cells(line)) for number, line in lines[place:end] if not _RULE.fullmatch(line.strip())]
            above = next((line for _, line in reversed(found[-2:]) if line.strip()), "")
            found += row_texts(rows, "" if "|" in above or len(above) > CAPTION_MAX else above.strip("# *:"))
        else:
            found += lines[place:end]
        if end == place:
            found.append(lines[end])
            end += 1
        place = end
    return found


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [" ".join(cell.replace("**", "").split()) for cell in inner.split("|")[:COLUMNS_MAX]]


_DELIMITERS = (",", ";", "\t", "|")
_CELL_MAX = 1000


def table_lines(text: str) -> list[tuple[int, str]]:
    """Return the rows of a file as lines, each with the number of the file's line in which it begins.

    The first rows name the columns. An empty line ends a table if a header or a narrower row follows it. A row may have
    more cells than there are names, or fewer.
    """
    return [line for table in split_tables(_rows(text)) for line in row_texts(table)]


def split_tables(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield the tables of a sheet. An empty row ends a table if a header or a narrower row follows it."""
    table: list[Row] = []
    after_gap = False
    for row in rows:
        if not any(row[1]):
            after_gap = bool(table)
            continue
        if after_gap and (is_header(row[1]) or _is_narrower(row, table[-1])):
            yield table
            table = []
        after_gap = False
        table.append(row)
    yield table


def _is_narrower(row: Row, before: Row) -> bool:
    """Return whether a row has at most half as many cells as the row before it, and so belongs to another table."""
    return 2 * sum(map(bool, row[1])) <= sum(map(bool, before[1]))


def _rows(text: str) -> list[Row]:
    """Return the rows of a CSV text with their line numbers, without rows that cannot be read."""
    reader = csv.reader(StringIO(text, newline=""), delimiter=_delimiter(text))
    rows: list[Row] = []
    begins = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return rows
        except csv.Error:  # A cell over the module's limit, or a zero byte: the row is left out.
            begins = reader.line_num + 1
            continue
        cells = [" ".join(cell.split())[:_CELL_MAX] for cell in row[:COLUMNS_MAX]]
        while cells and not cells[-1]:
            cells.pop()
        rows.append((begins, cells))
        begins = reader.line_num + 1


def _delimiter(text: str) -> str:
    """Return the delimiter that occurs most often in each of the first lines; a comma if there are no lines."""
    first = [line for line in text[:20_000].splitlines() if line.strip()][:10]
    if not first:
        return ","
    if len(first) > 1 and not any(mark in first[0] for mark in _DELIMITERS):
        first = first[1:]  # A title over the table.
    return max(_DELIMITERS, key=lambda mark: (min(line.count(mark) for line in first), first[0].count(mark)))
