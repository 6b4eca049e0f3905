"""The operations that read."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from functools import partial
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from replan.runs.asked import all_questions, questions_of
from replan.runs.cached import MARK
from replan.runs.orders import offered
from replan.runs.run_ids import ALL
from replan.runs.shown import read_shown
from replan.runs.status import STATUSES
from replan.service.access import Principal
from replan.views.budget import budget_bars
from replan.views.errors import line_of_error
from replan.views.records import record_to_json
from replan.views.replies import replies
from replan.views.rows import row_to_json
from replan.web.api_answers import answered
from replan.web.exports import document
from replan.web.record_pages import place_of
from replan.web.runs_page import QUERY_MAX, matches, page_number
from replan.web.site import Site
from replan.web.streams import RETRY_MILLISECONDS, EventStream, event
from runtime.core.errors import JournalError, UsageProblem
from runtime.journal.port import RunFilter

ROWS_MAX = 200
"""Rows of one answer."""


async def list_runs(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return a page of runs."""
    del who, body
    status, query = request.query_params.get("status", ""), request.query_params.get("q", "")[:QUERY_MAX]
    if status and status not in STATUSES:
        raise UsageProblem("there is no such status", place="status", hint=", ".join(STATUSES))
    rows = await site.reader.rows(RunFilter(status=status or None, limit=ALL.limit))
    found, number = [each for each in rows if matches(each[0], query)], page_number(request)
    begin, more = number * ROWS_MAX, len(found) > (number + 1) * ROWS_MAX
    shown = [row_to_json(row, word) for row, word in found[begin : begin + ROWS_MAX]]
    return answered({"runs": shown, "total": len(found), "page": number, "next_page": number + 1 if more else None})


async def read_run(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return what a run has come to, and whether anybody drives it now."""
    del who, body
    shown = await read_shown(site.reader, request.path_params["run"])
    return answered(shown.result_json)


async def read_tree(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return the search of a run."""
    del who, body
    shown = await read_shown(site.reader, request.path_params["run"])
    loaded, interrupted = shown.loaded, shown.status == "parked"
    made = loaded.kind.views.tree
    tree = made(shown.row.title, loaded.state, loaded.records, interrupted=interrupted, brief=False)
    return answered({"run_id": shown.row.run, **tree.json})


async def read_records(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return a page of records."""
    del who, body
    run, after = request.path_params["run"], place_of(request, "after") or 0
    loaded, found = await site.reader.page(run, after, MARK)
    records = [record_to_json(loaded.kind, record) for record, _ in found]
    last = found[-1][0].seq if found else after
    return answered({"run_id": run, "records": records, "next_after": last if last < loaded.seq else None})


async def stream_records(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return the records of a run as events, from the one after the cursor on."""
    del body
    run = request.path_params["run"]
    await site.engine.journal.row(run)
    if site.streams.full(who.client):
        raise HTTPException(429, "too many streams are open", {"retry-after": "5"})
    named, _, number = request.headers.get("last-event-id", "").rpartition(":")
    last = int(number) if named == run and number.isascii() and number.isdigit() and len(number) <= 12 else None
    return EventStream(_records(site, who, run, (place_of(request, "after") or 0) if last is None else last))


async def _records(site: Site, who: Principal, run: str, after: int) -> AsyncGenerator[str, None]:
    with site.streams.one(who.client):
        yield f"retry: {RETRY_MILLISECONDS}\n\n"
        async with aclosing(site.hub.changes(site.stop)) as changes:
            async for changed in changes:
                if site.visitor_ended(who):
                    return
                try:
                    while found := await site.hub.shared(("records", run, after), partial(_events, site, run, after)):
                        after, text = found
                        yield text
                except JournalError as error:
                    if not error.passing:
                        yield event("gone", "")
                        return
                if not changed:
                    yield ": ping\n\n"


async def _events(site: Site, run: str, after: int) -> tuple[int, str] | None:
    """Return the number of the last of the next records, and the records as events; None where there are none."""
    loaded = await site.reader.read(run)
    found = loaded.records[after : after + MARK]
    events = [
        event("record", f"{run}:{each.seq}", orjson.dumps(record_to_json(loaded.kind, each)).decode()) for each in found
    ]
    return (found[-1].seq, "".join(events)) if found else None


async def read_budget(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return what a run has used of each limit."""
    del who, body
    shown = await read_shown(site.reader, request.path_params["run"])
    common = shown.common
    bars = [] if common is None else budget_bars(common, price_known=shown.result.cost_usd is not None)
    return answered({"run_id": shown.row.run, "budget": [asdict(bar) for bar in bars]})


async def read_attempt(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return the prompt and the replies of an attempt."""
    del who, body
    run, node = request.path_params["run"], request.path_params["node"]
    loaded, near = await site.reader.marked(run)
    found, sent = replies(loaded.records, node), None
    try:
        sent = None if loaded.kind.views.prompt is None else loaded.kind.views.prompt(loaded.records, node, near)
    except UsageProblem as problem:
        if not found:
            raise HTTPException(404, problem.cause) from None
    prompt: dict[str, Any] | None = None
    if sent is not None:
        messages = [{"role": role, "content": text} for role, text in sent.messages]
        shown = {"request_id": sent.request_id, "prompt_hash": sent.prompt_hash, "verified": sent.verified}
        prompt = {**shown, "messages": messages, "cut": list(sent.cut)}
    return answered({"run_id": run, "node": node, "prompt": prompt, "replies": found})


async def export(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return a document of a run."""
    del who, body
    return await document(site.reader, request.path_params["run"], request.path_params["form"])


async def list_questions(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return the open questions of a run, or those of all runs, the oldest first."""
    del who, body
    run = request.path_params.get("run")
    if run is not None:
        return answered({"questions": await questions_of(site.reader, run)})
    asked = await all_questions(site.reader, limit=ROWS_MAX, oldest=True)
    problems = [{"run_id": name, "message": line_of_error(error)} for name, error in asked.problems]
    return answered({"questions": list(asked.questions), "problems": problems, "more": asked.more})


async def read_offer(site: Site, request: Request, who: Principal, body: None) -> Response:
    """Return the names that clients may use, and their ceilings."""
    del request, who, body
    return answered(offered(site.offer, allow_execute=site.allow_execute))
