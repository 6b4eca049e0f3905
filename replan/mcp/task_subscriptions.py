"""The method `subscriptions/listen` for tasks: sends a client each new state of the tasks that it names."""

from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    INVALID_PARAMS,
    Notification,
    ServerNotification,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from replan.mcp.calls import ToolCall
from replan.mcp.tasks import TERMINAL, read_task, read_task_run
from runtime.core.errors import JournalError, RunNotFound

TASKS_MAX = 50
"""Tasks that one subscription follows."""

TaskChanged = Notification[dict[str, Any], Literal["notifications/tasks"]]
"""The notification with the state of a task."""


def named_tasks(params: SubscriptionsListenRequestParams) -> list[str]:
    """Return the ids of the tasks that a client wants to follow. Raises `MCPError` for what is no list of ids."""
    sent = (params.notifications.model_extra or {}).get("taskIds", [])
    if not isinstance(sent, list) or not all(isinstance(item, str) for item in sent) or len(sent) > TASKS_MAX:
        raise MCPError(INVALID_PARAMS, f"taskIds: a list of at most {TASKS_MAX} ids is needed")
    return list(dict.fromkeys(sent))


async def listen(call: ToolCall, tasks: list[str]) -> SubscriptionsListenResult:
    """Send the states of tasks until all have ended, the token is revoked, or the server stops.

    Ids of no task are not acknowledged. Raises `RequestRefused` where the client waits in too many calls already.
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
    """What was sent of a task last, and the facts of its row then."""

    state: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[object, ...] = ()

    @property
    def ended(self) -> bool:
        return self.state.get("status") in TERMINAL


async def _existing_tasks(call: ToolCall, tasks: list[str]) -> dict[str, _Followed]:
    """Return those of the tasks that there are."""
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
    """Send a task's state if it is another one; read it only where its row has changed, or at a ping."""
    row = await call.desk.engine.journal.row(task)
    facts = row.last_seq, row.owner, row.last_posted, row.updated
    if changed and facts == last.facts:
        return
    state = await read_task(call, task)
    if state != last.state:
        await _send(call, TaskChanged(method="notifications/tasks", params={**state, "_meta": meta}))
    last.state, last.facts = state, facts


async def _send(call: ToolCall, notification: Notification[Any, Any]) -> None:
    # The SDK's type has only the notifications of the core protocol, but the SDK sends those of extensions too.
    sent = cast("ServerNotification", notification)
    await call.context.session.send_notification(sent, related_request_id=call.context.request_id)
