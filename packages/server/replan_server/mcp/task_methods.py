"""The methods of MCP's tasks extension: `tasks/get`, `tasks/update`, `tasks/cancel`, and notifications of changes."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ElicitResult,
    Notification,
    RequestParams,
    ServerNotification,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from pydantic import Field, ValidationError

from replan.views.errors import line_of_error
from replan_server.mcp.asking import answer_of, is_shown, name_of
from replan_server.mcp.calls import TASKS, Desk, ToolCall, caller_of
from replan_server.mcp.tasks import TERMINAL, read_task, read_task_run
from replan_server.service import messages
from replan_server.service.limits import RequestRefused
from replan_server.service.read_operations import open_questions
from replan_server.service.requests import MCP, in_terms
from runtime.core.errors import JournalError, ReplanError, RunNotFound, UsageProblem
from runtime.core.pydantic_messages import describe
from runtime.logs import log

TASKS_MAX = 50
"""The largest number of tasks that one subscription follows."""

TaskChanged = Notification[dict[str, Any], Literal["notifications/tasks"]]


def _named_tasks(params: SubscriptionsListenRequestParams) -> list[str]:
    """Return the ids of the tasks that a client wants to follow.

    Raises `MCPError` if the client has sent something else than a list of at most `TASKS_MAX` ids.
    """
    sent = (params.notifications.model_extra or {}).get("taskIds", [])
    if not isinstance(sent, list) or not all(isinstance(item, str) for item in sent) or len(sent) > TASKS_MAX:
        raise MCPError(INVALID_PARAMS, f"taskIds: the value must be a list of at most {TASKS_MAX} ids")
    return list(dict.fromkeys(sent))


async def listen(call: ToolCall, tasks: list[str]) -> SubscriptionsListenResult:
    """Send each change of tasks until all tasks have ended, the token is revoked, or the server stops.

    The acknowledgement lists only ids of existing tasks. Raises `RequestRefused` if too many calls are waiting.
    """
    meta = {SUBSCRIPTION_ID_META_KEY: call.context.request_id}
    with call.desk.waits.take(call.who.client):
        followed = await _existing_tasks(call, tasks)
        honored = SubscriptionFilter.model_validate({"taskIds": list(followed)} if followed else {})
        params = SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
        await _send(call, SubscriptionsAcknowledgedNotification(params=params))
        if followed:
            await _follow(call, followed, meta)
    return SubscriptionsListenResult(_meta=meta)


@dataclass(slots=True)
class _Followed:
    """The state of a task that was sent last, and the values of its run's row that show whether it has changed."""

    state: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[object, ...] = ()

    @property
    def ended(self) -> bool:
        return self.state.get("status") in TERMINAL


async def _existing_tasks(call: ToolCall, tasks: list[str]) -> dict[str, _Followed]:
    found: dict[str, _Followed] = {}
    for task in tasks:
        with suppress(RunNotFound):
            await read_task_run(call, task)
            found[task] = _Followed()
    return found


async def _follow(call: ToolCall, followed: dict[str, _Followed], meta: Mapping[str, Any]) -> None:
    async with aclosing(call.desk.hub.changes(call.desk.stop)) as changes:
        async for changed in changes:
            if call.who.token and not call.desk.has_token(call.who):
                return  # It was revoked.
            for task, last in list(followed.items()):
                try:
                    await _tell(call, task, last, meta, changed=changed)
                except RunNotFound:
                    del followed[task]  # It was deleted.
                except JournalError as error:
                    if not error.passing:
                        raise  # Else the next change, or the next ping, tells.
            if all(last.ended for last in followed.values()):
                return


async def _tell(call: ToolCall, task: str, last: _Followed, meta: Mapping[str, Any], *, changed: bool) -> None:
    """Send a task's state if it has changed. While the run's row is unchanged, read the state only at a ping."""
    row = await call.desk.engine.journal.row(task)
    facts = row.last_seq, row.owner, row.last_posted, row.updated
    if changed and facts == last.facts:
        return
    state = await read_task(call, task)
    if state != last.state:
        await _send(call, TaskChanged(method="notifications/tasks", params={**state, "_meta": meta}))
    last.state, last.facts = state, facts


async def _send(call: ToolCall, notification: Notification[Any, Any]) -> None:
    # The SDK's type has only the notifications of the core protocol, but the SDK also sends those of extensions.
    sent = cast("ServerNotification", notification)
    await call.context.session.send_notification(sent, related_request_id=call.context.request_id)


Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


class TaskParams(RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str = Field(min_length=1, max_length=200)


class TaskInput(TaskParams):
    """The parameters of `tasks/update`."""

    input_responses: dict[str, Any]
    """The filled forms, by the names of their questions. Forms of questions that are not open are ignored."""


def add_task_methods(server: Server[Any], desk: Desk) -> None:
    """Add the methods of tasks to a server and to its capabilities."""

    async def get(context: Context, params: TaskParams) -> dict[str, Any]:
        return await _carry_out(desk, context, lambda call: read_task(call, params.task_id), task=params.task_id)

    async def update(context: Context, params: TaskInput) -> dict[str, Any]:
        return await _carry_out(desk, context, lambda call: _update(call, params), task=params.task_id)

    async def cancel(context: Context, params: TaskParams) -> dict[str, Any]:
        return await _carry_out(desk, context, lambda call: _cancel(call, params.task_id), task=params.task_id)

    async def follow(context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        return await _carry_out(desk, context, lambda call: listen(call, _named_tasks(params)))

    server.extensions[TASKS] = {}
    server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, follow)
    server.add_request_handler("tasks/get", TaskParams, get)
    server.add_request_handler("tasks/update", TaskInput, update)
    server.add_request_handler("tasks/cancel", TaskParams, cancel)


async def _carry_out(desk: Desk, context: Context, work: Callable[[ToolCall], Awaitable[T]], *, task: str = "") -> T:
    """Return the result of a request about tasks. Raises `MCPError` for a bad request. Unexpected errors are logged.

    `task` is the task's id in the request; it is empty if the request has no id. Over HTTP, a header repeats the id.
    """
    call = ToolCall(desk, caller_of(context), context)
    if not call.modern:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", context.method)
    _check_header(context, task)
    if not call.has_tasks:
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"the client did not declare the extension {TASKS}", needed)
    try:
        desk.check_scope(call.who, "read")
        return await work(call)
    except RunNotFound:
        raise MCPError(INVALID_PARAMS, f"no task {task[:100]!r}") from None
    except ReplanError as error:
        code = INVALID_PARAMS if isinstance(error, UsageProblem | RequestRefused) else INTERNAL_ERROR
        raise MCPError(code, line_of_error(in_terms(error, MCP))) from None
    except MCPError:
        raise
    except Exception:  # noqa: BLE001 -- whatever fails, the client gets an answer, and the log the traceback
        log.get_logger("mcp").exception("request.failed", method=context.method)
        raise MCPError(INTERNAL_ERROR, "internal error; the log has the details") from None


def _check_header(context: Context, task: str) -> None:
    """Raise `MCPError` if the HTTP header does not name the task of the request. Proxies route by this header."""
    if task and context.request is not None:
        header = context.request.headers.get(MCP_NAME_HEADER)
        if header is None or decode_header_value(header) != task:
            raise MCPError(HEADER_MISMATCH, f"the header {MCP_NAME_HEADER} does not name the task of the request")


async def _update(call: ToolCall, params: TaskInput) -> dict[str, Any]:
    """Post the answers in filled forms. A form whose question is not open is ignored.

    If the user closed a form, its question stays open. If an answer does not fit, its question stays open too. The
    other answers are posted, and then the call fails with `UsageProblem`.
    """
    desk = call.desk
    desk.check_scope(call.who, "answer")
    desk.count_write(call.who)
    await read_task_run(call, params.task_id)
    open_by_name = {
        name_of(question): question
        for question in await open_questions(call.request(), params.task_id)
        if is_shown(question)
    }
    unfit: list[str] = []
    for name, filled in params.input_responses.items():
        if name not in open_by_name:
            continue
        try:
            form = _form(filled)
            if form.action != "cancel":
                await messages.answer_question(desk, str(open_by_name[name]["id"]), answer_of(form), via="mcp")
        except UsageProblem as problem:
            unfit.append(f"{name}: {line_of_error(problem)}")
        except RequestRefused:
            continue  # Somebody else answered first, and the run goes on with that answer.
    if unfit:
        raise UsageProblem("; ".join(unfit), place="inputResponses")
    return {}


def _form(sent: Any) -> ElicitResult:
    try:
        return ElicitResult.model_validate(sent, by_name=False)
    except ValidationError as error:
        raise UsageProblem(describe(error.errors(include_url=False)[0])) from None


async def _cancel(call: ToolCall, run: str) -> dict[str, Any]:
    """Cancel the run of a task, unless the run has ended."""
    call.desk.check_scope(call.who, "control")
    call.desk.count_write(call.who)
    if not _has_ended(await read_task(call, run)):
        try:
            await messages.cancel(call.desk, run, shown_by="`tasks/get`")
        except UsageProblem:
            if not _has_ended(await read_task(call, run)):
                raise
    return {}


def _has_ended(task: Mapping[str, Any]) -> bool:
    return task["status"] in TERMINAL
