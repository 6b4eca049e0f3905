"""The pages below a run: the records, the passages and the documents."""

import json
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from replan.runs.cached import MARK
from replan.runs.shown import read_shown
from replan.service.access import Principal
from replan.setup.installation import program
from replan.views.records import record_line
from replan.web.requests import page
from replan.web.site import Site
from replan.web.streams import cursor_at
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.reader import RunReader

FORMS = {
    "json": ("plan", "application/json", "json"),
    "markdown": ("markdown", "text/markdown; charset=utf-8", "md"),
    "github-checklist": ("github-checklist", "text/markdown; charset=utf-8", "checklist.md"),
    "csv": ("csv", "text/csv; charset=utf-8", "csv"),
    "xlsx": ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    "mermaid": ("mermaid", "text/plain; charset=utf-8", "mmd"),
}
"""The formats in which a plan or report can be downloaded: the document's name, its media type, and the file suffix."""


async def document(reader: "RunReader", run: str, form: str) -> Response:
    """Return a document of a run. Raises `HTTPException` for a format that is unknown, or that the run has not."""
    shown = await read_shown(reader, run)
    known = FORMS.get(form)
    make = None if known is None else shown.loaded.kind.views.documents.get(known[0])
    if known is None or make is None:
        raise HTTPException(404, f"a run of kind {shown.loaded.kind.name!r} has no such document")
    try:
        made = make(shown.loaded.state, shown.result, program())
    except UsageProblem as problem:
        raise HTTPException(404, problem.cause) from None
    content = made.content
    if content is None:
        text = json.dumps(made.json, indent=2, ensure_ascii=False) + "\n" if made.text is None else made.text
        content = text.encode("utf-8", "replace")
    name = f'attachment; filename="{shown.row.run}.{known[2]}"'
    return Response(content, media_type=known[1], headers={"content-disposition": name})


async def show_passage(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of the passage that states a value of a run."""
    run, path = request.path_params["run"], request.path_params["path"]
    shown = await read_shown(site.reader, run)
    passage = shown.loaded.kind.views.passage(shown.loaded.records, shown.result, path)
    if passage is None:
        raise HTTPException(404, "no document states such a value of this run")
    values = {"run": run, "title": shown.row.title, "path": path, "passage": passage, "here": "runs"}
    return page(site, who, "passage.html", values)


async def show_records(site: Site, request: Request, who: Principal) -> Response:
    """Return a page of the records of a run, from the one after `after`."""
    run = request.path_params["run"]
    after = row_number(request, "after") or 0
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


def row_number(request: Request, name: str) -> int | None:
    """Return the number of rows after which a page begins; None where none is named.

    Raises `HTTPException` for what is no number.
    """
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise HTTPException(422, f"{name}: should be a whole number from 0, of at most 12 digits")
    return int(text)


async def export(site: Site, request: Request, who: Principal) -> Response:
    """Return a document of a run as a file to be saved."""
    del who
    run, form = request.path_params["run"], request.path_params["form"]
    return await document(site.reader, run, form)
