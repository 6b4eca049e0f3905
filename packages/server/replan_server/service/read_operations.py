"""The operations that read: lists of runs, the state and result of a run, its questions, and the check of a plan."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import trio

from replan.api.check import PlanToCheck, Standard, judge_plan
from replan.runs.editing import open_plan
from replan.runs.families import ShownRun, read_shown
from replan.runs.inbox import all_questions, questions_of
from replan.runs.kind_interface import offered_names
from replan.runs.reader import ORDERS, STATUSES, RowQuery, RunReader
from replan.setup.installation import program
from replan.views.errors import line_of_error
from replan_server.service.limits import RequestRefused
from replan_server.service.orders import offer_fields
from replan_server.service.requests import ProgramRequest
from replan_server.service.run_data import budget_bars
from replan_server.service.service import Service
from runtime.core.errors import UsageProblem
from runtime.core.ledger import MICRO
from runtime.journal.port import RunFilter, RunRow

QUESTIONS_MAX = 200
"""The largest number of questions in one response."""

_CHECKS = trio.CapacityLimiter(1)
"""Lets only one plan be checked at a time, because a check may occupy a whole processor core for some seconds."""


async def status(request: ProgramRequest) -> Mapping[str, Any]:
    """Return the present state of a run."""
    return state_of(await read_shown(request.service.reader, request.run), await open_questions(request, request.run))


async def result(request: ProgramRequest) -> Mapping[str, Any]:
    """Return the result of a run, and whether a process drives the run."""
    return (await read_shown(request.service.reader, request.run)).result_json


async def tree(request: ProgramRequest) -> Mapping[str, Any]:
    """Return the search of a run."""
    return tree_of(await read_shown(request.service.reader, request.run))


def tree_of(shown: ShownRun) -> Mapping[str, Any]:
    """Return the search of a run as plain data."""
    loaded, interrupted = shown.loaded, shown.status == "parked"
    make = loaded.kind.views.tree
    view = make(shown.row.title, loaded.state, loaded.records, interrupted=interrupted, brief=False)
    return {"run_id": shown.row.run, **view.to_json()}


async def budget(request: ProgramRequest) -> Mapping[str, Any]:
    """Return the amounts that a run has used of each limit."""
    shown = await read_shown(request.service.reader, request.run)
    common = shown.common
    bars = [] if common is None else budget_bars(common, price_known=shown.result.cost_usd is not None)
    return {"run_id": shown.row.run, "budget": [asdict(bar) for bar in bars]}


async def offer(request: ProgramRequest) -> Mapping[str, Any]:
    """Return the names that clients may use, and the ceilings of their runs."""
    return offer_of(request.service)


def offer_of(service: Service) -> Mapping[str, Any]:
    """Return the names that clients of a server may use, and the ceilings of their runs."""
    fields = offer_fields(service.offer, allow_execute=service.allow_execute)
    return {**fields, **offered_names(service.offer)}


async def questions(request: ProgramRequest) -> Mapping[str, Any]:
    """Return the open questions of a run, or of all runs, the oldest first."""
    if request.run:
        return {"questions": await open_questions(request, request.run), "problems": [], "more": False}
    page = await all_questions(request.service.reader, limit=QUESTIONS_MAX)
    problems = [{"run_id": name, "message": line_of_error(error)} for name, error in page.problems]
    return {
        "questions": [_hide_artifact(request, question) for question in page.questions],
        "problems": problems,
        "more": page.more,
    }


async def open_questions(request: ProgramRequest, run: str) -> list[dict[str, Any]]:
    """Return the open questions of a run in the client's form, the oldest first."""
    return [_hide_artifact(request, item) for item in await questions_of(request.service.reader, run)]


def _hide_artifact(request: ProgramRequest, question: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a question that the client may see.

    A model does not get the artifact under review, because only a person may judge it.
    """
    if request.terms.shows_reviews:
        return question
    return {name: value for name, value in question.items() if name != "artifact"}


async def rest_of_plan(request: ProgramRequest) -> Mapping[str, Any]:
    """Return the plan of a planning run, or the remaining plan of an execution."""
    opened = await open_plan(request.service.engine, request.run)
    if opened.review and not request.terms.shows_reviews:
        raise RequestRefused("only a person may edit a plan that a person approves", "forbidden")
    return {"run_id": opened.run, "revision": opened.revision, "edits": opened.edits, "plan": opened.value}


async def check_plan(request: ProgramRequest) -> Mapping[str, Any]:
    """Return the verdict of the guards on a plan."""
    sent = request.body
    case, standard = PlanToCheck("plan", json.dumps(sent.plan)), Standard(sent.level, sent.assurance, sent.r_max)
    _, report, _ = await trio.to_thread.run_sync(
        partial(judge_plan, case, standard), abandon_on_cancel=True, limiter=_CHECKS
    )
    return {name: value for name, value in report.items() if name != "file"}


def state_of(shown: ShownRun, questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the present state of a run, and the client's next step."""
    result, row = shown.result, shown.row
    return {
        "run_id": row.run,
        "kind": row.kind,
        "status": result.status,
        "outcome": result.outcome,
        "why": result.why,
        "title": row.title,
        "calls": result.calls,
        "tokens": result.tokens,
        "cost_usd": result.cost_usd,
        "driven": shown.driven,
        "next": _next_step_text(shown, questions),
        "questions": questions,
    }


def _next_step_text(shown: ShownRun, questions: list[dict[str, Any]]) -> str:
    own = program()
    if shown.result.status == "finished":
        return "call `result`"
    if questions and all(question.get("people_only") for question in questions):
        return f"a person has to answer, on the web page or with `{own} answer`; then call `wait`"
    if questions:
        return "ask your user, call `answer`, then `wait`"
    if not shown.driven:
        return f"no process drives this run: start `{own} host`, or this server without --no-host"
    if shown.result.status == "parked":
        return "if the run waits for its provider, it goes on by itself; otherwise call `resume`, then `wait`"
    return "call `wait`"


QUERY_MAX = 100
"""The largest number of characters that are used of the text to search for in runs."""
USD_MAX = 10**9
"""An amount in dollars that no run can cost. The least cost by which runs are selected must be lower."""
PAGE_MAX = 999_999
"""The largest page number that a list of runs accepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryField:
    """A field of the query of a URL."""

    meaning: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})


def _empty_or(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"anyOf": [schema, {"const": ""}]}  # A form sends an empty text for a missing field.


FIELDS: Mapping[str, QueryField] = {
    "status": QueryField(meaning="Only runs with this status.", schema=_empty_or({"enum": list(STATUSES)})),
    "q": QueryField(meaning="Only runs whose id, title or kind contains this text."),
    "kind": QueryField(meaning="Only runs of this kind."),
    "cost": QueryField(
        meaning="Only runs that cost at least this many dollars.",
        schema=_empty_or({"type": "number", "minimum": 0, "exclusiveMaximum": USD_MAX}),
    ),
    "sort": QueryField(meaning=f"The order: {', '.join(ORDERS)}.", schema=_empty_or({"enum": list(ORDERS)})),
}


async def run_page(
    reader: RunReader, fields: Mapping[str, str], *, number: int, rows_max: int
) -> tuple[list[tuple[RunRow, str]], int]:
    """Return the rows of a page, with their statuses in words, and the number of all runs that match.

    Pages are counted from 0.

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
