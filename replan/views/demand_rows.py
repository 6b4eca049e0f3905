"""The table of demands for pages: what the user asks for, where, and what the plan does about it. Pure."""

from dataclasses import dataclass

from actors.demands.table import DemandStanding, DemandTable, standing_text
from runtime.logs.terminal_text import clean


@dataclass(frozen=True, slots=True)
class DemandRow:
    """One demand."""

    quote: str
    """The words of the user."""
    kind: str
    """What it is, in words."""
    source: str
    """Where the words stand: `problem`, `user` or `answer`."""
    standing: str
    """What the plan does about it, in words."""
    missing: bool
    """Whether it is in no step."""


def demand_rows(table: DemandTable) -> list[DemandRow]:
    """Return the rows of a page, those that the plan ignores first."""
    return [
        DemandRow(
            clean(row.quote, one_line=True),
            row.kind.replace("_", " "),
            row.source,
            clean(f"{standing_text(row)}{f'; assumed: {row.assumed}' if row.assumed else ''}", one_line=True),
            row.standing is DemandStanding.IN_NO_STEP,
        )
        for row in table.worst_first
    ]
