"""The page of one run: its questions, plan, checklist, budget and search, and the forms that act on it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from replan.runs.shown import ShownRun, read_shown
from replan.runs.status import goes_on
from replan.service.access import Principal
from replan.setup.command_name import program
from replan.views.budget import budget_bars
from replan.views.drawing import draw
from replan.views.question_forms import shown_form
from replan.views.questions import open_questions
from replan.views.tree_pages import tree_page
from replan.web.exports import FORMS
from replan.web.requests import page
from replan.web.runs_page import number_of, shown_row
from replan.web.site import Site

ROWS_MAX = 200
"""Rows of a result, and of a part of the tree, that a page shows."""


async def show_run(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of a run."""
    run = request.path_params["run"]
    shown = await read_shown(site.reader, run)
    common, over = shown.common, shown.status == "finished"
    final = common is not None and common.finished is not None and common.finished.final
    interrupted = shown.status == "parked"
    part = number_of(request, "part")
    values = {
        **_content(shown, part),
        "run": shown_row(shown.row, shown.status),
        "result": shown.result,
        "kind": shown.loaded.kind.name,
        "top": shown.top,
        "made_from": shown.loaded.kind.made_from(shown.loaded.state),
        "linked": shown.linked,
        "undriven": _undriven(shown, hosts=site.hosts),
        "program": program(),
        "limits": None if common is None else common.ledger.limits,
        "takes_messages": not final,
        "can_resume": site.hosts and (interrupted or (over and goes_on(common))),
        "may_cancel": not over,
        "here": "runs",
        "live": f"/live?run={run}",
        "notice": request.query_params.get("done", ""),
    }
    return page(site, who, "run.html", values)


def _content(shown: ShownRun, part: int | None) -> dict[str, Any]:
    """Return what the page shows of the run's state; `part` is the number of the tree's part, None for the last."""
    loaded, views, common = shown.loaded, shown.loaded.kind.views, shown.common
    tree = views.tree(shown.row.title, loaded.state, loaded.records, interrupted=shown.status == "parked", brief=False)
    questions = open_questions(loaded.kind, shown.row.run, shown.with_inbox)
    flow, checklist = views.flow(loaded.state, shown.result), views.checklist(shown.result)
    lines = views.lines(shown.result, program(), full=flow is not None)
    return {
        "questions": [shown_form(each) for each in questions],
        "bars": [] if common is None else budget_bars(common, price_known=shown.result.cost_usd is not None),
        "tree": tree_page(tree.tree, ROWS_MAX, part),
        "tree_title": views.tree_title,
        "tree_lines": tree.lines[:ROWS_MAX],
        "drawing": draw(flow),
        "flow_title": views.flow_title,
        "checklist": checklist,
        "lines": () if questions or checklist is not None else lines[:ROWS_MAX],
        "result_title": "Steps" if "plan" in views.documents and flow is not None else "Result",
        "forms": [] if flow is None else [name for name, form in FORMS.items() if form[0] in views.documents],
    }


def _undriven(shown: ShownRun, *, hosts: bool) -> str:
    """Return `parked` or `idle` for a run that nobody drives; empty where somebody does, or where it is over."""
    if shown.status == "finished" or shown.driven or (hosts and shown.status != "parked"):
        return ""
    return "parked" if shown.status == "parked" else "idle"
