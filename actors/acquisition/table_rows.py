"""The other rows of the table in which a quantity stands: the same column in rows about the same thing. Pure.

A table of years states one value for each: all are candidates, whichever a model has quoted. A row about something
else, such as another country, is none.
"""

from collections.abc import Mapping

from actors.acquisition.evidence import composed_text
from actors.acquisition.planner_state import Passage
from actors.quantities.periods import last_year, period_of
from actors.quantities.quoted import Found, Source, quoted_value
from actors.quantities.units import UnitTable

ROWS_MAX = 60
"""Rows of a table that are looked at."""


def other_rows(
    passage: Passage, found: Found, unit: str, *, wanted: str, units: Mapping[str, str], table: UnitTable
) -> tuple[Found, ...]:
    """Return the quantities of the other rows that differ from the quantity's row in nothing but years and numbers."""
    text = composed_text(passage.text)
    start = text.rfind("\n", 0, found.start) + 1
    cells = _cells(text, start)
    own = next((place for place, (begin, end) in enumerate(cells) if begin <= found.start < end), None)
    if own is None or len(cells) < 2 or not _year(text, cells):
        return ()
    words, others = _words(text, cells), []
    source = Source(text, passage.decimal_mark, passage.language)
    line = 0
    for _ in range(ROWS_MAX):
        row = _cells(text, line)
        if line != start and len(row) == len(cells) and _words(text, row) == words and _year(text, row):
            begin, end = row[own]
            value = text[begin:end].rpartition(": ")[2].strip(" |")
            read = quoted_value(source, [(begin, end)], value, unit, wanted=wanted, table=table, declared=units)
            if isinstance(read, Found):
                others.append(read)
        after = text.find("\n", line)
        if after < 0:
            break
        line = after + 1
    return tuple(others)


def _cells(text: str, start: int) -> list[tuple[int, int]]:
    """Return where the cells of the line begin and end that begins at a place; none where it is no row."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    cells, begin = [], start
    for part in text[start:end].split("|"):
        cells.append((begin, begin + len(part)))
        begin += len(part) + 1
    return cells if len(cells) > 1 else []


def _words(text: str, cells: list[tuple[int, int]]) -> list[str]:
    """Return the cells of a row without their digits: what they are about."""
    return [
        "".join(each for each in text[begin:end] if not each.isdigit() and each not in " .,") for begin, end in cells
    ]


def _year(text: str, cells: list[tuple[int, int]]) -> bool:
    """Tell whether a row names its year."""
    begin, end = cells[0][0], cells[-1][1]
    row = text[begin:end]
    return any(last_year(period_of(row, place, place)) for place in (0, len(row)))
