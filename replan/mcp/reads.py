"""The tools that read: what a run is doing and has come to, its questions, and the check of a plan."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import trio

from replan.mcp import bodies
from replan.mcp.calls import Call
from replan.runs.asked import all_questions, questions_of
from replan.runs.shown import ShownRun, read_shown
from replan.service.checking import Case, Standard, judged
from replan.setup.command_name import program
from replan.views.errors import line_of_error
from replan.views.question_forms import for_people_only

ROWS_MAX = 200
"""Questions of one answer."""

_CHECKS = trio.CapacityLimiter(1)
"""Plans that are checked at a time: it takes one processor, and up to seconds."""


async def status(call: Call, wanted: bodies.Run) -> Mapping[str, Any]:
    """Return what a run is doing."""
    return state_of(await read_shown(call.desk.reader, wanted.id), await open_questions(call, wanted.id))


async def result(call: Call, wanted: bodies.Run) -> Mapping[str, Any]:
    """Return what a run has come to."""
    return (await read_shown(call.desk.reader, wanted.id)).result_json


async def questions(call: Call, wanted: bodies.MaybeRun) -> Mapping[str, Any]:
    """Return the open questions of a run, or those of all runs, the oldest first."""
    if wanted.id is not None:
        return {"questions": await open_questions(call, wanted.id), "problems": [], "more": False}
    asked = await all_questions(call.desk.reader, limit=ROWS_MAX, oldest=True)
    problems = [{"run_id": name, "message": line_of_error(error)} for name, error in asked.problems]
    return {"questions": [for_program(each) for each in asked.questions], "problems": problems, "more": asked.more}


async def check_plan(call: Call, wanted: bodies.CheckPlan) -> Mapping[str, Any]:
    """Return the verdict of the guards on a plan."""
    del call
    case, standard = Case("plan", json.dumps(wanted.plan)), Standard(wanted.level, wanted.assurance, wanted.r_max)
    _, report, _ = await trio.to_thread.run_sync(
        partial(judged, case, standard), abandon_on_cancel=True, limiter=_CHECKS
    )
    return {name: value for name, value in report.items() if name != "file"}


async def open_questions(call: Call, run: str) -> list[dict[str, Any]]:
    """Return the open questions of a run, the oldest first, as programs see them."""
    return [for_program(each) for each in await questions_of(call.desk.reader, run)]


def for_program(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question as programs see it: one that a person has to answer says so, without what is reviewed."""
    if not for_people_only(question):
        return dict(question)
    return {**{name: value for name, value in question.items() if name != "artifact"}, "people_only": True}


def state_of(shown: ShownRun, questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a run is doing, and what to do next."""
    result, row = shown.result, shown.row
    driven = shown.driven
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
        "driven": driven,
        "next": _next(shown, questions, driven=driven),
        "questions": questions,
    }


def _next(shown: ShownRun, questions: list[dict[str, Any]], *, driven: bool) -> str:
    run, own = shown.row.run, program()
    if shown.result.status == "finished":
        return "call `result`"
    if questions and all(each.get("people_only") for each in questions):
        return f"a person has to answer, on the web page or with `{own} answer`; then call `wait`"
    if questions:
        return "ask your user, call `answer`, then `wait`"
    if not driven:
        return f"nobody drives this run: start `{own} host`, or this server without --no-host"
    if shown.result.status == "parked":
        return f"it goes on by itself where it waits for its provider; else a person resumes it: `{own} resume {run}`"
    return "call `wait`"
