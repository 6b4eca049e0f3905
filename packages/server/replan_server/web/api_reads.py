"""The operations that only the HTTP API has: lists in pages, records, streams, prompts and documents."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from replan.views.errors import error_fields
from replan.views.rows import record_to_json, row_to_json
from replan_server.service.access import Principal
from replan_server.service.cached_reader import MARK
from replan_server.service.limits import RequestRefused
from replan_server.service.read_operations import PAGE_MAX, run_page
from replan_server.service.requests import HTTP, encode_json, in_terms
from replan_server.web.ag_ui_stream import ag_ui
from replan_server.web.record_pages import document, row_number
from replan_server.web.replies import replies
from replan_server.web.requests import as_http, status_of_error
from replan_server.web.site import Site
from replan_server.web.streams import RETRY_MILLISECONDS, EventStream, event
from runtime.core.errors import JournalError, ReplanError, UsageProblem


def json_answer(value: Any, status: int = 200) -> Response:
    """Return a response with a value as JSON."""
    return Response(encode_json(value), status, media_type="application/json")


def json_error(error: ReplanError | HTTPException) -> Response:
    """Return the JSON response about an error, with its HTTP status."""
    if isinstance(error, RequestRefused):
        error = as_http(error)
    if isinstance(error, HTTPException):
        kind = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound"}.get(error.status_code, "RequestRefused")
        fields: dict[str, object] = {"kind": kind, "message": error.detail}
        response = json_answer({"error": fields}, error.status_code)
        response.headers.update(error.headers or {})
        return response
    return json_answer({"error": error_fields(in_terms(error, HTTP))}, status_of_error(error))


ROWS_MAX = 200
"""The largest number of runs in one response."""


async def list_runs(site: Site, request: Request, who: Principal) -> Response:
    """Return one page of the list of runs."""
    del who
    number = row_number(request, "page") or 0
    if number > PAGE_MAX:
        raise HTTPException(422, f"page: the largest page number is {PAGE_MAX}")
    rows, total = await run_page(site.reader, request.query_params, number=number, rows_max=ROWS_MAX)
    listed = [row_to_json(row, status) for row, status in rows]
    more = total > (number + 1) * ROWS_MAX
    return json_answer({"runs": listed, "total": total, "page": number, "next_page": number + 1 if more else None})


async def read_records(site: Site, request: Request, who: Principal) -> Response:
    """Return at most `MARK` records of a run, after the number in the query field `after`."""
    del who
    run, after = request.path_params["run"], row_number(request, "after") or 0
    loaded, rows = await site.reader.page(run, after, MARK)
    records = [record_to_json(loaded.kind, record) for record, _ in rows]
    last = rows[-1][0].seq if rows else after
    return json_answer({"run_id": run, "records": records, "next_after": last if last < loaded.seq else None})


async def stream_records(site: Site, request: Request, who: Principal) -> Response:
    """Return the records of a run as a stream of events, beginning after the last record that the client has."""
    run = request.path_params["run"]
    await site.engine.journal.row(run)
    named, _, number = request.headers.get("last-event-id", "").rpartition(":")
    if named == run and number.isascii() and number.isdigit() and len(number) <= 12:
        after = int(number)
    else:
        after = row_number(request, "after") or 0
    return EventStream(site.streams.take(who.client), _records(site, who, run, after))


async def _records(site: Site, who: Principal, run: str, after: int) -> AsyncGenerator[str, None]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    async with aclosing(site.hub.changes(site.stop)) as changes:
        async for changed in changes:
            if site.visitor_ended(who):
                return
            try:
                while answer := await site.hub.ask_once(("records", run, after), partial(_events, site, run, after)):
                    after, text = answer
                    yield text
            except JournalError as error:
                if not error.passing:
                    yield event("gone", "")
                    return
            if not changed:
                yield ": ping\n\n"


async def _events(site: Site, run: str, after: int) -> tuple[int, str] | None:
    """Return the number of the last new record, and the new records as events; None if there are no new records."""
    loaded = await site.reader.read(run)
    new_records = loaded.records[after : after + MARK]
    events = [
        event("record", f"{run}:{record.seq}", orjson.dumps(record_to_json(loaded.kind, record)).decode())
        for record in new_records
    ]
    return (new_records[-1].seq, "".join(events)) if new_records else None


async def read_attempt(site: Site, request: Request, who: Principal) -> Response:
    """Return the prompt and the replies of an attempt."""
    del who
    run, node = request.path_params["run"], request.path_params["node"]
    loaded, near = await site.reader.read_marked(run)
    attempt_replies = replies(loaded.records, node)
    sent = None
    try:
        sent = None if loaded.kind.views.prompt is None else loaded.kind.views.prompt(loaded.records, node, near)
    except UsageProblem as problem:
        if not attempt_replies:
            raise HTTPException(404, problem.cause) from None
    prompt: dict[str, Any] | None = None
    if sent is not None:
        messages = [{"role": role, "content": text} for role, text in sent.messages]
        facts = {"request_id": sent.request_id, "prompt_hash": sent.prompt_hash, "verified": sent.verified}
        prompt = {**facts, "messages": messages, "cut": list(sent.cut)}
    return json_answer({"run_id": run, "node": node, "prompt": prompt, "replies": attempt_replies})


async def export(site: Site, request: Request, who: Principal) -> Response:
    """Return a document of a run in the format that the address names."""
    del who
    return await document(site.reader, request.path_params["run"], request.path_params["form"])


OWN: Mapping[str, Callable[[Site, Request, Principal], Awaitable[Response]]] = {
    function.__name__: function for function in (list_runs, read_records, stream_records, ag_ui, read_attempt, export)
}
