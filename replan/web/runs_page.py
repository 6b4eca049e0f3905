"""The list of runs: filtered, searched, at most `ROWS_MAX` rows a page."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from replan.runs.reader import ORDERS, RowQuery
from replan.runs.status import STATUSES
from replan.service.access import Principal
from replan.service.read_operations import QUERY_MAX, USD_MAX
from replan.views.rows import row_to_json
from replan.web.requests import page
from replan.web.site import Site
from replan.web.streams import cursor_of
from runtime.core.ledger import MICRO
from runtime.journal.port import RunFilter, RunRow

ROWS_MAX = 100
"""Runs of one page."""


async def runs(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of the runs that match the query."""
    status = request.query_params.get("status", "")
    query = request.query_params.get("q", "")[:QUERY_MAX]
    number, cursor = page_number(request), await cursor_of(site, "")
    begin = number * ROWS_MAX
    least, kinds = request.query_params.get("cost", "")[:QUERY_MAX], sorted(site.reader.kinds.codecs)
    wanted = RowQuery(
        text=query,
        kind=known_word(request.query_params.get("kind", ""), kinds),
        micro_usd_min=micro_usd(least),
        order=known_word(request.query_params.get("sort", ""), ORDERS) or "newest",
    )
    fields = {"status": status if status in STATUSES else "", "q": query, "kind": wanted.kind}
    fields |= {"cost": least if wanted.micro_usd_min else "", "sort": "" if wanted.order == "newest" else wanted.order}
    which = RunFilter(status=status if status in STATUSES else None, begin=begin, limit=ROWS_MAX)
    rows, total = await site.reader.row_page(which, wanted)
    values = {
        "rows": [shown_row(row, word) for row, word in rows],
        "total": total,
        "status": status if status in STATUSES else "",
        "statuses": STATUSES,
        "q": query,
        "kind": wanted.kind,
        "kinds": kinds,
        "cost": fields["cost"],
        "sort": wanted.order,
        "sorted_by": {order: _address({**fields, "sort": order}) for order in ORDERS},
        "before": _address({**fields, "page": number - 1}) if number else "",
        "after": _address({**fields, "page": number + 1}) if begin + ROWS_MAX < total else "",
        "here": "runs",
        "live": "/live",
        "cursor": cursor,
        "notice": request.query_params.get("done", ""),
    }
    return page(site, who, "runs.html", values)


def page_number(request: Request) -> int:
    """Return the number of the page, from 0; 0 for what is no number."""
    text = request.query_params.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0


def shown_row(row: RunRow, status: str) -> dict[str, Any]:
    """Return a row as the table shows it."""
    word = row.detail if status == "finished" else status
    if status == "running" and row.status == "running" and row.detail:
        word = "held up"
    usd = row.micro_usd / MICRO if row.micro_usd else None
    return {**row_to_json(row, status), "word": word, "calls": row.calls, "usd": usd, "at": row.updated}


def known_word(word: str, words: Iterable[str]) -> str:
    """Return a word of an address if it is one of some words, else an empty text."""
    return word if word in words else ""


def micro_usd(dollars: str) -> int:
    """Return an amount in dollars as micro-dollars; 0 for what is no amount."""
    try:
        amount = float(dollars)
    except ValueError:
        return 0
    return int(amount * MICRO) if 0 < amount < USD_MAX else 0


def _address(fields: Mapping[str, Any]) -> str:
    return f"/runs?{urlencode({name: value for name, value in fields.items() if value})}"
