"""The inbox: all that waits for a person, oldest first, and the forms that answer it."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from replan.runs.inbox import all_questions, check_receipt, questions_of
from replan.runs.run_ids import ALL
from replan.service.access import Principal
from replan.views.errors import line_of_error
from replan.views.rows import row_to_json
from replan.views.run_page import answer_of_form, with_form
from replan.web.requests import FormFields, back_to, page
from replan.web.runs_page import page_number
from replan.web.site import Site
from replan.web.streams import cursor_of
from runtime.core.errors import UsageProblem
from runtime.journal.port import RunFilter
from runtime.process.identity import is_dead

ROWS_MAX = 200
"""Parked runs of one page."""
QUESTIONS_MAX = 50
"""Questions of one page: each has a form, and the oldest come first."""


async def inbox(site: Site, request: Request, who: Principal) -> Response:
    """Return the inbox."""
    number, cursor = page_number(request), await cursor_of(site, "")
    asked = await all_questions(site.reader, begin=number * QUESTIONS_MAX, limit=QUESTIONS_MAX)
    rows = await site.reader.rows(RunFilter(unfinished=True, limit=ALL.limit))
    stopped = [row_to_json(row, status) for row, status in rows if status == "parked" or row.status == "parked"]
    held_up = [row_to_json(row, status) for row, status in rows if status == "running" and row.detail]
    parked = [{"why": "interrupted", **row} for row in [*stopped, *held_up][:ROWS_MAX]]
    values = {
        "questions": [
            {**with_form(question), "title": asked.titles.get(question["run_id"], "")} for question in asked.questions
        ],
        "before": f"/?page={number - 1}" if number else "",
        "after": f"/?page={number + 1}" if asked.more else "",
        "problems": [(run, line_of_error(error)) for run, error in asked.problems],
        "hosted": bool(await site.engine.journal.hosts(dead=is_dead)),
        "parked": parked,
        "here": "inbox",
        "live": "/live",
        "cursor": cursor,
        "notice": request.query_params.get("done", ""),
        "taken": not any(row.unread for row, _ in rows),
    }
    return page(site, who, "inbox.html", values)


async def show_question(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of one open question; links in notifications lead here."""
    question = await _question(site, request)
    return page(site, who, "question.html", {**question, "back": "/", "trouble": "", "typed": ""})


async def answer(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Post the answer of a form, or that there will be none; where it does not fit, show the form again."""
    run, name = request.path_params["run"], request.path_params["name"]
    back = f"/runs/{run}" if form.text("back") == f"/runs/{run}" else "/"
    typed, full = form.text("typed"), f"{run}/{name}"
    question = await _open_question(site, run, name)
    if question is not None and form.text("version") != question["version"]:
        raise HTTPException(409, "the question has changed since the page was opened; open it again")
    try:
        if form.text("do") == "decline":
            receipt = await site.engine.decline(full, via="web")
        else:
            text = typed if question is None else answer_of_form(question, form.text("picked"), typed)
            receipt = await site.engine.answer(full, text, via="web")
        check_receipt(receipt, full)
    except UsageProblem as error:
        if question is None:
            raise
        given = typed or form.text("picked")
        values = {**await _with_title(site, question), "back": back, "trouble": line_of_error(error), "typed": given}
        return page(site, who, "question.html", values, 422)
    done = "declined" if form.text("do") == "decline" else "answered"
    return back_to(back, "duplicate" if receipt.result == "duplicate" else done)


async def _question(site: Site, request: Request) -> dict[str, Any]:
    run, name = request.path_params["run"], request.path_params["name"]
    question = await _open_question(site, run, name)
    if question is None:
        raise HTTPException(404, "this question is not open any more")
    return await _with_title(site, question)


async def _with_title(site: Site, question: dict[str, Any]) -> dict[str, Any]:
    title = (await site.engine.journal.row(question["run_id"])).title
    return {"q": {**question, "title": title}}


async def _open_question(site: Site, run: str, name: str) -> dict[str, Any] | None:
    """Return an open question with its form; None for one that is not open."""
    found = [item for item in await questions_of(site.reader, run) if item["id"] == f"{run}/{name}"]
    return with_form(found[0]) if found else None
