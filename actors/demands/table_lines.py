"""The table of demands for people: one line for each demand, with what the plan does about it. Pure."""

from collections import Counter

from actors.demands.table import DemandTable, Row, Standing, standing_text
from actors.values.format import counted, shortened
from actors.values.lines import Line, Style, indented, line

HEADING = "Demands of the text"
NONE_FOUND = "No demand was found in the text."
ROWS_BRIEF = 12
"""Rows of the short form that are in a step, checked or declared; those in no step are always shown."""
QUOTE_MAX = 200
"""Characters of a quote that one line shows."""

_STYLES: dict[Standing, Style] = {
    Standing.IN_STEP: "",
    Standing.CHECKED: "",
    Standing.DECLARED: "dim",
    Standing.IN_NO_STEP: "yellow",
}
_OPEN = {Standing.IN_NO_STEP: "in no step", Standing.DECLARED: "not checked"}
"""What the heading counts."""


def row_text(row: Row) -> str:
    """Return a row as one line of text."""
    quote = shortened(row.quote, QUOTE_MAX)
    return f"{standing_text(row)}: {quote}{f' (assumed: {row.assumed})' if row.assumed else ''}"


def table_texts(table: DemandTable) -> tuple[str, ...]:
    """Return the whole table as lines of text, with what was not read at the end."""
    rows = tuple(row_text(row) for row in table.worst_first)
    return (*(rows or (NONE_FOUND,)), *table.unread)


def heading(table: DemandTable) -> str:
    """Return the heading with how many demands there are, and how many of them the plan leaves to its readers."""
    counts = Counter(row.standing for row in table.rows)
    open_ones = (f"{counts[each]} {words}" for each, words in _OPEN.items() if counts[each])
    return f"{HEADING}: {', '.join((str(len(table.rows)), *open_ones))}"


def table_lines(table: DemandTable, *, full: bool = True) -> list[Line]:
    """Return the table; without `full`, rows beyond `ROWS_BRIEF` are counted, but for demands in no step."""
    if not table.rows:
        return [line(NONE_FOUND, "dim"), *(line(text, "yellow") for text in table.unread)]
    lines, left, hidden = [line(heading(table), "bold")], ROWS_BRIEF, 0
    for row in table.worst_first:
        if not full and row.standing is not Standing.IN_NO_STEP:
            left -= 1
            if left < 0:
                hidden += 1
                continue
        lines.append(indented(row_text(row), _STYLES[row.standing]))
    if hidden:
        lines.append(indented(f"{counted(hidden, 'demand')} more, in a step, checked or declared", "dim"))
    return [*lines, *(indented(text, "yellow") for text in table.unread)]
