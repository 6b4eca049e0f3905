"""The tasks extension on the side of the client: the SDK's hooks for extensions, and the methods as typed requests."""

from typing import Any, ClassVar, Literal

import trio
from mcp.client import ClientExtension, NotificationBinding, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result
from pydantic import BaseModel, ConfigDict, TypeAdapter

from replan_server.mcp.calls import TASKS
from replan_server.mcp.tasks import TERMINAL

STATE = TypeAdapter(dict[str, Any])


class NewTask(Result):
    """What a call comes back with that has started a run."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"]
    taskId: str  # noqa: N815 -- as it is sent
    status: str


class Named(RequestParams):
    """The parameters of the methods."""

    task_id: str
    input_responses: dict[str, Any] | None = None


class Get(Request[Named, Literal["tasks/get"]]):
    name_param: ClassVar[str | None] = "taskId"


class Update(Request[Named, Literal["tasks/update"]]):
    name_param: ClassVar[str | None] = "taskId"


class Cancel(Request[Named, Literal["tasks/cancel"]]):
    name_param: ClassVar[str | None] = "taskId"


class Listen(Request[dict[str, Any], Literal["subscriptions/listen"]]):
    """A subscription."""


class AnyParams(BaseModel):
    """The parameters of a notification, as they were sent."""

    model_config = ConfigDict(extra="allow")


async def polled(session, task):
    """Return the state of a task, as it was sent."""
    return await session.send_request(Get(method="tasks/get", params=Named(task_id=task)), STATE)


async def updated(session, task, **forms):
    plain = {name: form.model_dump(by_alias=True, exclude_none=True) for name, form in forms.items()}
    params = Named(task_id=task, input_responses=plain)
    return await session.send_request(Update(method="tasks/update", params=params), STATE)


async def cancelled(session, task):
    return await session.send_request(Cancel(method="tasks/cancel", params=Named(task_id=task)), STATE)


async def listened(session, *tasks):
    """Follow tasks until the server ends the subscription."""
    params = {"notifications": {"taskIds": list(tasks)}}
    return await session.send_request(Listen(method="subscriptions/listen", params=params), STATE)


async def until(session, task, *statuses):
    """Return the state of a task once it has one of some statuses, or has ended."""
    with trio.fail_after(300):
        while True:
            state = await polled(session, task)
            if state["status"] in statuses or state["status"] in TERMINAL:
                return state
            await trio.sleep(0.05)


async def new_task(client, tool, **arguments):
    """Call a tool that starts a run, and return the task."""
    task = await client.session.call_tool(tool, arguments, allow_claimed=True)
    assert isinstance(task, NewTask), task
    return task


class TasksExtension(ClientExtension):
    """Takes tasks; polls one to its end for a plain call, and fills its forms with what `fill` returns."""

    identifier = TASKS

    def __init__(self, fill=None):
        self._fill, self.told = fill, []

    def claims(self):
        return [ResultClaim(result_type="task", model=NewTask, resolve=self._finished)]

    def notifications(self):
        """Note each state that the server tells."""

        async def note(params):
            self.told.append(params.model_extra)

        return [NotificationBinding(method="notifications/tasks", params_type=AnyParams, handler=note)]

    async def has_told(self, status):
        """Wait until a status is the last that the server told."""
        with trio.fail_after(300):
            while not self.told or self.told[-1]["status"] != status:  # noqa: ASYNC110 -- the SDK calls back
                await trio.sleep(0.02)

    async def _finished(self, task, context):
        while True:
            state = await until(context.session, task.taskId, "input_required")
            if state["status"] in TERMINAL:
                return CallToolResult.model_validate(state["result"])
            forms = {name: self._fill(each) for name, each in state["inputRequests"].items()}
            await updated(context.session, task.taskId, **forms)
