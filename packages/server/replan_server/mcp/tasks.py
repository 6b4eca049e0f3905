"""Tasks of the MCP extension `io.modelcontextprotocol/tasks`. With a task, a client polls a run that it has started.

The id of a task is the id of its run. The state of a task is computed from the run's records and inbox, so a server
stores nothing about tasks. Every server with the same journal knows the same tasks.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mcp_types import INTERNAL_ERROR
from pydantic import BaseModel

from actors.run.ending import Outcome
from replan.runs.families import ShownRun, read_shown
from replan.views.errors import line_of_error
from replan_server.mcp.asking import form_of, is_shown, name_of
from replan_server.mcp.calls import ToolCall, call_result, error_result
from replan_server.service.read_operations import open_questions, state_of
from replan_server.service.service import is_at_rest
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.core.names import RUN_ID

POLL_MS = 1_000
"""How many milliseconds a client should wait between two polls of a task whose run is under way."""
REST_POLL_MS = 5_000
"""How many milliseconds a client should wait between two polls of a task whose run rests."""
TERMINAL = frozenset({"completed", "failed", "cancelled"})


async def read_task(call: ToolCall, run: str) -> dict[str, Any]:
    """Return the state of a task, with its forms, its result or its error.

    The state has forms only if the client can show forms and may answer. Otherwise `statusMessage` says how to answer.
    Raises the errors of `read_shown`, and `RunNotFound` for a run of another tenant.
    """
    shown = await read_task_run(call, run)
    match shown.status:
        case "finished" if is_at_rest(call.desk, shown):
            return {**_facts(shown), **_end_fields(shown)}
        case "moved":
            message = f"the run was moved to {shown.moved_to} and goes on there"
            return {**_facts(shown), **_failure(message)}
        case _:
            return {**_facts(shown), **await _under_way(call, shown)}


async def created_task(call: ToolCall, run: str) -> dict[str, Any]:
    """Return the first state of a task, as the result of the call that has started its run."""
    task = await read_task(call, run)
    kept = {name: value for name, value in task.items() if name not in ("inputRequests", "result", "error")}
    return {**kept, "resultType": "task"}


async def read_task_run(call: ToolCall, run: str) -> ShownRun:
    """Return the run of a task. Raises `RunNotFound` for an unknown run, and for a run of another tenant."""
    if RUN_ID.fullmatch(run) is None:
        raise RunNotFound(run)
    row = await call.desk.engine.journal.row(run)
    if row.tenant != call.desk.engine.placement.tenant:
        raise RunNotFound(run)
    return await read_shown(call.desk.reader, run)


def _facts(shown: ShownRun) -> dict[str, Any]:
    """Return the fields of every task. `ttlMs` is None, because a run is kept until a person deletes it."""
    row = shown.row
    times = {"createdAt": _time(row.created), "lastUpdatedAt": _time(row.updated)}
    return {"taskId": row.run, **times, "ttlMs": None, "pollIntervalMs": POLL_MS}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _end_fields(shown: ShownRun) -> Mapping[str, Any]:
    result = shown.result
    message = ": ".join(filter(None, (result.outcome, result.why)))
    match result.outcome:
        case Outcome.CANCELLED:
            return {"status": "cancelled", "statusMessage": message}
        case Outcome.FAILED:  # Our own bug, and no answer of the tool.
            return _failure(message)
        case _:
            return {"status": "completed", "statusMessage": message, "result": _tool_result(shown)}


def _failure(message: str) -> Mapping[str, Any]:
    return {"status": "failed", "statusMessage": message, "error": {"code": INTERNAL_ERROR, "message": message}}


def _tool_result(shown: ShownRun) -> dict[str, Any]:
    """Return the run's result, as the result of the tool call that has started the run.

    It is marked as an error unless the run succeeded.
    """
    try:
        answer = call_result(shown.result_json, is_error=shown.result.outcome != Outcome.SUCCESS)
    except UsageProblem as problem:
        answer = error_result(line_of_error(problem))
    return _plain(answer)


def _plain(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


async def _under_way(call: ToolCall, shown: ShownRun) -> Mapping[str, Any]:
    questions = await open_questions(call.request(), shown.row.run)
    shown_questions = [question for question in questions if is_shown(question)]
    if shown_questions and call.can_ask:
        forms = {
            name_of(item): form_of(item).model_dump(by_alias=True, mode="json", exclude_none=True)
            for item in shown_questions
        }
        message = f"{len(shown_questions)} questions are open" if len(shown_questions) > 1 else "a question is open"
        return {"status": "input_required", "statusMessage": message, "inputRequests": forms}
    if not is_at_rest(call.desk, shown):
        return {"status": "working", "statusMessage": f"{shown.status}, {shown.result.calls} model calls"}
    state = state_of(shown, questions)
    message = ": ".join(filter(None, (shown.status, shown.result.why, state["next"])))
    return {"status": "working", "statusMessage": message, "pollIntervalMs": REST_POLL_MS}
