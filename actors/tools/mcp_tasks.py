"""The client's side of tasks of an MCP server: if a call returns a task, the task is polled until it ends.

This is the extension `io.modelcontextprotocol/tasks` of 2026-07-28. If the server does not have it, nothing changes.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import trio
from mcp import Client
from mcp.client import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, Request, RequestParams, Result
from pydantic import ConfigDict, TypeAdapter

POLL_SECONDS = (0.05, 30.0)
"""The shortest and the longest time between two polls, in seconds, whatever the server asks for."""
SLOWER = 0.05
"""The shortest time between two polls, as a fraction of the time that the task has taken so far."""
CANCEL_SECONDS = 2.0
"""The time limit, in seconds, for the answer to the request to cancel a task."""
ANY: Any = TypeAdapter(dict[str, Any])
"""What accepts any JSON object, and returns it unchanged."""


class StartedTask(Result):
    """The result of a call that continues as a task."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"]


class _TaskParams(RequestParams):
    """The parameters of the methods `tasks/get` and `tasks/cancel`."""

    task_id: str


class _Poll(Request[_TaskParams, Literal["tasks/get"]]):
    name_param: ClassVar[str | None] = "taskId"


class _Cancel(Request[_TaskParams, Literal["tasks/cancel"]]):
    name_param: ClassVar[str | None] = "taskId"


class TaskFailed(Exception):
    """A task has ended without a result. The text is the cause, as a clause."""


class TasksAccepted(ClientExtension):
    """Tells servers that they may answer a call with a task."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> list[ResultClaim[Any]]:
        """Return the type of a result that is a task. The task is polled by `wait_for_task`, not by the SDK."""
        return [ResultClaim(result_type="task", model=StartedTask, resolve=_never)]


async def _never(task: StartedTask, context: ClaimContext) -> CallToolResult:
    raise AssertionError(f"{task} is polled by `wait_for_task`, not in {context}")


async def wait_for_task(client: Client, started: Mapping[str, Any]) -> Mapping[str, Any]:
    """Wait until a task has ended, and return its result.

    Raises `TaskFailed`. Raises `MCPError` if the server answers a poll with an error, or if the task has failed with
    one.
    """
    task, begun, state = started.get("taskId"), trio.current_time(), started
    if not isinstance(task, str):
        raise TaskFailed("the server has started a task without an id")
    while True:
        match state.get("status"):
            case "completed" if isinstance(result := state.get("result"), dict):
                return result
            case "completed" if state is not started:  # What starts a task never has the result; only a poll has.
                raise MCPError(INTERNAL_ERROR, "the task is completed, but has no result")
            case "completed" | "working":
                await trio.sleep(_pause(state.get("pollIntervalMs"), trio.current_time() - begun))
            case "failed":
                raise MCPError(INTERNAL_ERROR, _message(state.get("error")))
            case "input_required":
                await _cancel_task(client, task)
                raise TaskFailed("the task asks for input, which no step can give")
            case "cancelled":
                raise TaskFailed("the server has cancelled the task")
            case _:
                raise TaskFailed("the server reports a task status that the protocol does not define")
        poll = _Poll(method="tasks/get", params=_TaskParams(task_id=task))
        state = await client.session.send_request(poll, ANY)


def _pause(wished_ms: Any, elapsed: float) -> float:
    """Return the seconds until the next poll of a task.

    `wished_ms` is what the server asks for, in milliseconds. `elapsed` is how long the task has taken so far, in
    seconds.
    """
    least, most = POLL_SECONDS
    wish = wished_ms / 1000 if isinstance(wished_ms, int | float) else least
    return min(max(least, wish, SLOWER * elapsed), most)


def _message(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return message[:500] if isinstance(message, str) else "it does not say why"


async def _cancel_task(client: Client, task: str) -> None:
    """Ask the server to cancel a task. Errors and a missing answer are ignored."""
    with trio.move_on_after(CANCEL_SECONDS):
        try:
            cancel = _Cancel(method="tasks/cancel", params=_TaskParams(task_id=task))
            await client.session.send_request(cancel, ANY)
        except Exception:  # noqa: BLE001, S110 -- the call has ended, whatever the server says
            pass
