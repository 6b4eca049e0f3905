"""The pages below a run: the prompt and replies of an attempt, the records, the documents."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from replan.runs.cached import MARK
from replan.service.access import Principal
from replan.views.errors import line_of_error
from replan.views.records import record_line
from replan.views.replies import replies
from replan.web.exports import document
from replan.web.requests import page
from replan.web.site import Site
from replan.web.streams import cursor_at
from runtime.core.errors import UsageProblem


async def show_attempt(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of one attempt: the prompt that was sent, and the replies."""
    run, node = request.path_params["run"], request.path_params["node"]
    loaded, near = await site.reader.marked(run)
    sent, trouble = None, ""
    try:
        if loaded.kind.views.prompt is not None:
            sent = loaded.kind.views.prompt(loaded.records, node, near)
    except UsageProblem as error:
        trouble = line_of_error(error)
    found = replies(loaded.records, node)
    if sent is None and not found:
        raise HTTPException(404, trouble or "a run of this kind shows no prompts")
    title = (await site.engine.journal.row(run)).title
    values = {"run": run, "title": title, "node": node, "sent": sent, "trouble": trouble, "replies": found}
    return page(site, who, "attempt.html", {**values, "here": "runs"})


async def show_records(site: Site, request: Request, who: Principal) -> Response:
    """Return a page of the records of a run, from the one after `after`."""
    run = request.path_params["run"]
    after = place_of(request, "after") or 0
    row = await site.engine.journal.row(run)
    loaded, found = await site.reader.page(run, after, MARK)
    address = f"/runs/{run}/records?after="
    values = {
        "run": run,
        "title": row.title,
        "total": loaded.seq,
        "rows": [(record.seq, record_line(loaded.kind, record, state)) for record, state in found],
        "before": f"{address}{max(0, after - MARK)}" if after else "",
        "after": f"{address}{after + MARK}" if after + MARK < loaded.seq else "",
        "last": f"{address}{max(0, loaded.seq - 1) // MARK * MARK}",
        "here": "runs",
        "live": f"/live?run={run}",
        "cursor": cursor_at(row),
    }
    return page(site, who, "records.html", values)


def place_of(request: Request, name: str) -> int | None:
    """Return the number of rows after which a page begins; None where none is named.

    Raises `HTTPException` for what is no number.
    """
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise HTTPException(422, f"{name}: a number of rows")
    return int(text)


async def export(site: Site, request: Request, who: Principal) -> Response:
    """Return a document of a run as a file to be saved."""
    del who
    run, form = request.path_params["run"], request.path_params["form"]
    return await document(site.reader, run, form)
