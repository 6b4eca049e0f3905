"""The subject of an event: the step and the node that logs and actors are bound to."""

from collections.abc import Mapping

from actors.acquisition.call_events import ReplyReceived, RequestReissued
from actors.acquisition.events import AcquisitionEvent, Routed
from actors.acquisition.state import AcquisitionState
from actors.run.calls import CallFailed, CallRequested, Settled
from actors.run.ids import node_of, step_of
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.tools import ToolFinished, ToolRequested, ToolStarted


def log_fields(event: AcquisitionEvent, state: AcquisitionState) -> Mapping[str, str | int]:
    """Return `step` and `node` of an event that names a node of the graph, a request or a question; else nothing."""
    match event:
        case Routed():
            return {"step": event.node, "node": event.node}
        case RequestReissued():
            node = event.again.node
        case CallRequested() | ReplyReceived() | ToolRequested() | ClarificationRequested():
            node = event.node
        case CallFailed() | Settled():
            node = node_of(event.request_id)
        case ToolStarted() | ToolFinished():
            node = node_of(event.request_id.removeprefix("tool:"))
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            question = state.run.questions.get(event.question_id)
            node = "" if question is None else question.request.node
        case _:
            return {}
    return {"step": step_of(node), "node": node} if "/" in node else {}
