"""The list of runs as programs ask for it: by status, text, kind and cost, in an order, page by page."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from replan.runs.reader import ORDERS, RowQuery, RunReader
from replan.runs.status import STATUSES
from runtime.core.errors import UsageProblem
from runtime.core.ledger import MICRO
from runtime.journal.port import RunFilter, RunRow

QUERY_MAX = 100
"""Characters of a search."""
USD_MAX = 10**9
"""More dollars than any run costs."""
PAGE_MAX = 999_999
"""The largest number of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryField:
    """A part of a query that a program may send."""

    meaning: str
    """What it means, in a sentence."""
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    """The JSON Schema of its value."""


def _empty_or(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"anyOf": [schema, {"const": ""}]}  # A form sends an empty text for a field that is left out.


FIELDS: Mapping[str, QueryField] = {
    "status": QueryField(meaning="Only runs with this status.", schema=_empty_or({"enum": list(STATUSES)})),
    "q": QueryField(meaning="Only runs whose id, title or kind has this."),
    "kind": QueryField(meaning="Only runs of this kind."),
    "cost": QueryField(
        meaning="Only runs that cost at least this many dollars.",
        schema=_empty_or({"type": "number", "minimum": 0, "exclusiveMaximum": USD_MAX}),
    ),
    "sort": QueryField(meaning=f"The order: {', '.join(ORDERS)}.", schema=_empty_or({"enum": list(ORDERS)})),
}
"""The conditions and the order by their names."""


async def run_page(
    reader: RunReader, fields: Mapping[str, str], *, number: int, rows_max: int
) -> tuple[list[tuple[RunRow, str]], int]:
    """Return the rows of a page, counted from 0, each with its status for people, and how many runs match.

    Raises `UsageProblem` for a value that no run can have.
    """
    status = _one_of("status", fields.get("status", ""), STATUSES)
    query = RowQuery(
        text=fields.get("q", "")[:QUERY_MAX],
        kind=_one_of("kind", fields.get("kind", ""), sorted(reader.kinds.codecs)),
        micro_usd_min=_micro_usd(fields.get("cost", "")),
        order=_one_of("sort", fields.get("sort", ""), ORDERS) or "newest",
    )
    return await reader.row_page(RunFilter(status=status or None, begin=number * rows_max, limit=rows_max), query)


def _one_of(name: str, value: str, allowed: Collection[str]) -> str:
    if value and value not in allowed:
        raise UsageProblem(f"there is no such {name}", place=name, hint=", ".join(allowed))
    return value


def _micro_usd(text: str) -> int:
    try:
        amount = float(text or "0")
    except ValueError:
        amount = -1.0
    if not 0 <= amount < USD_MAX:
        raise UsageProblem("this is not an amount in dollars", place="cost", hint="a number such as 0.05")
    return round(amount * MICRO)
