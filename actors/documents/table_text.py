"""The text of a CSV file: one line for each row, in which each cell has the name of its column."""

import csv
from io import StringIO

from actors.documents.tables import COLUMNS_MAX, Row, is_header, named_rows

_DELIMITERS = (",", ";", "\t", "|")
_CELL_MAX = 1000


def table_lines(text: str) -> list[tuple[int, str]]:
    """Return the rows of a file as lines, each with the number of the line in which it begins.

    The first rows name the columns. An empty line begins another table where words follow it. A row with more or fewer
    cells than names is kept as far as it goes.
    """
    lines: list[tuple[int, str]] = []
    table: list[Row] = []
    after_gap = False
    for row in _rows(text):
        if not any(row[1]):
            after_gap = bool(table)
            continue
        if after_gap and is_header(row[1]):
            lines += named_rows(table)
            table = []
        after_gap = False
        table.append(row)
    return [*lines, *named_rows(table)]


def _rows(text: str) -> list[Row]:
    """Return the rows with their lines; one that cannot be read is left out."""
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
    """Return the delimiter that the first lines have most evenly; a comma if they have none."""
    first = [line for line in text[:20_000].splitlines() if line.strip()][:10]
    if not first:
        return ","
    if len(first) > 1 and not any(mark in first[0] for mark in _DELIMITERS):
        first = first[1:]  # A title over the table.
    return max(_DELIMITERS, key=lambda mark: (min(line.count(mark) for line in first), first[0].count(mark)))
