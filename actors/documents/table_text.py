"""The text of a CSV file: one line for each row, in which each cell has the name of its column."""

import csv
from collections.abc import Sequence
from io import StringIO

COLUMNS_MAX = 100
"""Columns of a table; further cells of a row are left out."""
_DELIMITERS = (",", ";", "\t", "|")
_CELL_MAX = 1000


def table_lines(text: str) -> list[tuple[int, str]]:
    """Return the rows of a table as lines, each with the number of the line in which it begins.

    The first row names the columns. A row with more or fewer cells than that is kept as far as it goes.
    """
    reader = csv.reader(StringIO(text, newline=""), delimiter=_delimiter(text))
    lines: list[tuple[int, str]] = []
    header: Sequence[str] = ()
    begins = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return lines
        except csv.Error:  # A cell over the module's limit, or a zero byte: the row is left out.
            begins = reader.line_num + 1
            continue
        cells = [" ".join(cell.split())[:_CELL_MAX] for cell in row[:COLUMNS_MAX]]
        if any(cells):
            if header:
                lines.append((begins, _row(header, cells)))
            else:
                header = cells
                lines.append((begins, " | ".join(cells)))
        begins = reader.line_num + 1


def _row(header: Sequence[str], cells: Sequence[str]) -> str:
    names = [*header, *[""] * (len(cells) - len(header))]
    return " | ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell)


def _delimiter(text: str) -> str:
    """Return the delimiter that the first lines have most evenly; a comma if they have none."""
    first = [line for line in text[:20_000].splitlines() if line.strip()][:10]
    if not first:
        return ","
    return max(_DELIMITERS, key=lambda mark: (min(line.count(mark) for line in first), first[0].count(mark)))
