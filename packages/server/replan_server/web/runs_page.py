"""The list of runs, and the inbox: everything that waits for a person, with forms for the answers."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from actors.run.open_question import group_equal
from replan.runs.inbox import all_questions, check_receipt, questions_of, split_question_id
from replan.runs.reader import ALL, ORDERS, STATUSES
from replan.views.errors import line_of_error
from replan.views.rows import row_to_json
from replan_server.service.access import Principal
from replan_server.service.read_operations import QUERY_MAX, USD_MAX, run_page
from replan_server.service.run_data import answer_of_form, with_form
from replan_server.web.requests import FormFields, back_to, page
from replan_server.web.site import Site
from replan_server.web.streams import cursor_of
from runtime.core.errors import UsageProblem
from runtime.core.ledger import MICRO
from runtime.journal.port import RunFilter, RunRow
from runtime.process.identity import is_dead

ROWS_MAX = 100
"""The largest number of runs on one page."""


async def runs(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of the runs that match the query."""
    query, number = request.query_params, _page_number(request)
    cursor = await cursor_of(site, "")
    kinds = sorted(site.reader.kinds.codecs)
    fields = {"q": query.get("q", "")[:QUERY_MAX], "cost": _amount(query.get("cost", "")[:QUERY_MAX])}
    for name, words in (("status", STATUSES), ("kind", kinds), ("sort", ORDERS)):
        word = query.get(name, "")
        fields[name] = word if word in words else ""
    rows, total = await run_page(site.reader, fields, number=number, rows_max=ROWS_MAX)
    values = {
        **fields,
        "rows": [shown_row(row, run_status) for row, run_status in rows],
        "total": total,
        "statuses": STATUSES,
        "kinds": kinds,
        "sort": fields["sort"] or "newest",
        "sorted_by": {order: _address({**fields, "sort": order}) for order in ORDERS},
        "before": _address({**fields, "page": number - 1}) if number else "",
        "after": _address({**fields, "page": number + 1}) if (number + 1) * ROWS_MAX < total else "",
        "here": "runs",
        "live": "/live",
        "cursor": cursor,
        "notice": request.query_params.get("done", ""),
    }
    return page(site, who, "runs.html", values)


def _page_number(request: Request) -> int:
    """Return the number of the page, from 0; 0 for an invalid number."""
    text = request.query_params.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0


def shown_row(row: RunRow, status: str) -> dict[str, Any]:
    """Return the values that the table of runs shows for a row. `status` is the status that people see."""
    label = status
    if status == "finished":
        label = row.detail  # Its outcome.
    elif status == row.status == "running" and row.detail:  # The detail of a driven run is why it cannot go on now.
        label = "held up"
    usd = row.micro_usd / MICRO if row.micro_usd else None
    return {
        "limit_near": None,
        **row_to_json(row, status),
        "word": label,
        "calls": row.calls,
        "usd": usd,
        "at": row.updated,
    }


def _amount(dollars: str) -> str:
    """Return an amount in dollars as it was typed; empty for an invalid amount, or for 0."""
    try:
        return dollars if 0 < float(dollars) < USD_MAX else ""
    except ValueError:
        return ""


def _address(fields: Mapping[str, Any]) -> str:
    return f"/runs?{urlencode({name: value for name, value in fields.items() if value})}"


PARKED_MAX = 200
"""The largest number of parked runs on one page."""
QUESTIONS_MAX = 50
"""The largest number of open questions on one page. The oldest questions come first, each with a form."""


async def inbox(site: Site, request: Request, who: Principal) -> Response:
    """Return the inbox page: the open questions, and the runs that are parked or cannot go on now."""
    number = _page_number(request)
    cursor = await cursor_of(site, "")
    question_page = await all_questions(site.reader, begin=number * QUESTIONS_MAX, limit=QUESTIONS_MAX)
    rows = await site.reader.rows(RunFilter(unfinished=True, limit=ALL.limit))
    parked = [row_to_json(row, status) for row, status in rows if "parked" in (status, row.status)]
    held_up = [row_to_json(row, status) for row, status in rows if status == "running" and row.detail]
    # A run whose driver died is parked, but its row gives no reason.
    stopped = [{"why": "interrupted", **row} for row in [*parked, *held_up][:PARKED_MAX]]
    questions = [
        {**with_form(question), "title": question_page.titles.get(question["run_id"], "")}
        for question in question_page.questions
    ]
    values = {
        "count": len(questions),
        "questions": [{**first, "equal": equal} for first, *equal in group_equal(questions)],
        "before": f"/?page={number - 1}" if number else "",
        "after": f"/?page={number + 1}" if question_page.more else "",
        "problems": [(run, line_of_error(error)) for run, error in question_page.problems],
        "hosted": bool(await site.engine.journal.hosts(dead=is_dead)),
        "parked": stopped,
        "here": "inbox",
        "live": "/live",
        "cursor": cursor,
        "notice": request.query_params.get("done", ""),
        "all_read": not any(row.unread for row, _ in rows),
    }
    return page(site, who, "inbox.html", values)


async def show_question(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of one open question. Links in notifications lead to this page."""
    question = await _question(site, request)
    return page(site, who, "question.html", {**question, "back": "/", "trouble": "", "typed": ""})


async def answer(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Post the answer in a form, or a decline if the form has `do=decline`.

    If the answer does not fit the question, show the form again.

    The field `also` has the ids of equal questions that get the same answer. All answers are checked before any answer
    is recorded.
    """
    run, name = request.path_params["run"], request.path_params["name"]
    back = f"/runs/{run}" if form.text("back") == f"/runs/{run}" else "/"
    typed = form.text("typed")
    question_id = f"{run}/{name}"
    question = await _open_question(site, run, name)
    if question is not None and form.text("version") != question["version"]:
        raise HTTPException(409, "the question has changed since the page was opened; open the page again")
    others = [] if question is None else await _equal_questions(site, question, form.texts("also"))
    declines = form.text("do") == "decline"
    try:
        text = typed if question is None else answer_of_form(question, form.text("picked"), typed)
        ids = [question_id, *(other["id"] for other in others)]
        checked = [await site.engine.check_answer(item, None if declines else text, via="web") for item in ids]
        receipts = [await site.engine.post_answer(item) for item in checked]
        for item, receipt in zip(ids, receipts, strict=True):
            check_receipt(receipt, item)
    except UsageProblem as error:
        if question is None:
            raise
        entered = typed or form.text("picked")
        shown = await _with_title(site, {**question, "equal": others})
        return page(
            site,
            who,
            "question.html",
            {**shown, "back": back, "trouble": line_of_error(error), "typed": entered},
            422,
        )
    duplicate = all(receipt.result == "duplicate" for receipt in receipts)
    return back_to(back, "duplicate" if duplicate else "declined" if declines else "answered")


async def _equal_questions(site: Site, question: dict[str, Any], ids: Iterable[str]) -> list[dict[str, Any]]:
    """Return the open questions with the given `ids`, each with the title of its run.

    Raises `HTTPException` if one of them is not open, or is not equal to `question`.
    """
    found = []
    for other_id in dict.fromkeys(ids):
        run, name = split_question_id(other_id)
        other = None if other_id == question["id"] else await _open_question(site, run, name)
        if other is None or len(group_equal([question, other])) > 1:
            cause = f"the question {other_id[:80]} is no longer open, or has changed; nothing was recorded"
            raise HTTPException(409, f"{cause}; open the inbox again")
        found.append({**other, "title": (await site.engine.journal.row(run)).title})
    return found


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
    """Return an open question with its form; None if the question is not open."""
    for question in await questions_of(site.reader, run):
        if question["id"] == f"{run}/{name}":
            return with_form(question)
    return None
