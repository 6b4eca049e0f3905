"""What an event of an execution is about, for logs: the step, the node and the revision. Pure."""

from collections.abc import Mapping

from actors.execution.events import (
    AttemptDecided,
    ExecutionCallReissued,
    ExecutionEvent,
    PlanRevised,
    ProofReached,
    ProofRequested,
    StepSettled,
    TroubleDecided,
)
from actors.execution.ids import place_of, tool_node
from actors.execution.state import ExecutionState, State
from actors.run.calls import CallFailed, CallRequested, Replied, Settled
from actors.run.ids import node_of
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.tools import (
    ToolCheckRequested,
    ToolFinished,
    ToolProcessEnded,
    ToolReissued,
    ToolRequested,
    ToolStarted,
)


def log_fields(event: ExecutionEvent, state: ExecutionState) -> Mapping[str, str | int]:
    """Return `step`, `node` and `revision` of an event that is about an attempt; `state` is one after the event."""
    if isinstance(event, TroubleDecided):
        return {"step": event.step} if event.step else {}
    if isinstance(event, PlanRevised):
        return {"revision": event.revision}
    node = _node(event, state)
    if not node or not isinstance(state, State):
        return {}
    place = place_of(node)
    if place is None:
        return {"node": node}
    return {"step": state.plan.by_name.get(place.name, place.name), "node": node, "revision": place.revision}


def _node(event: ExecutionEvent, state: ExecutionState) -> str:
    match event:
        case ToolRequested() | CallRequested() | AttemptDecided() | StepSettled() | ProofRequested() | ProofReached():
            return event.node
        case ToolStarted() | ToolFinished():
            return tool_node(event.request_id)
        case ToolCheckRequested() | ToolProcessEnded():
            return tool_node(event.call)
        case ToolReissued() | ExecutionCallReissued():
            return event.again.node
        case Replied() | CallFailed() | Settled():
            return node_of(event.request_id)
        case ClarificationRequested():
            return tool_node(event.node)
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationExpired() | ClarificationWithdrawn():
            question = state.run.questions.get(event.question_id)
            return "" if question is None else tool_node(question.request.node)
        case _:
            return ""
