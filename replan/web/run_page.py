"""The page of one run, and the pages below it: the prompt and replies of an attempt, the records, the documents."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from replan.runs.cached import MARK
from replan.runs.shown import read_shown
from replan.runs.status import goes_on
from replan.service.access import Principal
from replan.views.budget import budget_bars
from replan.views.errors import line_of_error
from replan.views.question_forms import shown_form
from replan.views.questions import open_questions
from replan.views.records import record_line
from replan.views.replies import replies
from replan.views.row_pages import RowPage, row_page, tree_page
from replan.web.exports import FORMS, document
from replan.web.requests import page
from replan.web.runs_page import shown_row
from replan.web.site import Site
from replan.web.streams import cursor_at
from runtime.core.errors import UsageProblem
from runtime.process.identity import is_dead

ROWS_MAX = 200
"""Rows of a result, and of a tree, that a page shows."""


async def show_run(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of a run."""
    run = request.path_params["run"]
    shown = await read_shown(site.reader, run)
    loaded, views, common = shown.loaded, shown.loaded.kind.views, shown.common
    parts = site.parts.parts(shown)
    actions = tree_page(parts.tree.tree, place_of(request, "tree"), ROWS_MAX)
    questions = open_questions(loaded.kind, run, shown.with_inbox)
    lines = row_page(() if questions else parts.lines, place_of(request, "lines") or 0, ROWS_MAX)
    final = common is not None and common.finished is not None and common.finished.final
    interrupted, over = shown.status == "parked", shown.status == "finished"
    values = {
        "run": shown_row(shown.row, shown.status),
        "result": shown.result,
        "kind": loaded.kind.name,
        "top": shown.top,
        "nobody": shown.status in ("running", "waiting") and not shown.driven and not site.hosts,
        "driven": shown.row.owner is not None and not is_dead(shown.row.owner),
        "questions": [shown_form(each) for each in questions],
        "bars": [] if common is None else budget_bars(common, price_known=shown.result.cost_usd is not None),
        "limits": None if common is None else common.ledger.limits,
        "tree": actions,
        "tree_pages": _pages(run, "tree", actions),
        "tree_lines": parts.tree.lines[:ROWS_MAX],
        "drawing": parts.drawing,
        "lines": lines,
        "lines_pages": _pages(run, "lines", lines),
        "forms": [] if parts.plan is None else [name for name, form in FORMS.items() if form[0] in views.documents],
        "takes_messages": not final,
        "can_resume": site.hosts and (interrupted or (over and goes_on(common))),
        "may_cancel": not over,
        "here": "runs",
        "live": f"/live?run={run}",
        "cursor": cursor_at(shown.row),
        "notice": request.query_params.get("done", ""),
    }
    return page(site, who, "run.html", values)


def _pages(run: str, name: str, page: RowPage[Any]) -> tuple[str, str]:
    """Return the addresses of the rows before a page of rows and after it; empty where there are none."""
    address = f"/runs/{run}?{name}="
    before = f"{address}{max(0, page.begin - ROWS_MAX)}" if page.begin else ""
    return before, f"{address}{page.end}" if page.end < page.total else ""


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
