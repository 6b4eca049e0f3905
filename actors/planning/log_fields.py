"""The subject of an event: the step, the node and the branch that logs and actors are bound to."""

from collections.abc import Mapping

from actors.planning.call_events import ArtifactProduced, FailureClassified, RequestReissued
from actors.planning.decision_event import Decided
from actors.planning.events import JudgementRequested, PlanningEvent, VerdictReached
from actors.planning.ids import branch_of
from actors.planning.state import PlanningState
from actors.run.calls import CallFailed, CallRequested, Settled
from actors.run.ids import node_of, step_of
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.waits import WaitEnded, WaitRequested


def log_fields(event: PlanningEvent, state: PlanningState) -> Mapping[str, str | int]:
    """Return `step`, `node` and `branch` (0 is the first) of an event that names a node, a request or a question.

    `state` is one after the event; it knows who has asked a question. Empty for all other events: what is about a whole
    branch has a field for it, and the rest is about the run.
    """
    match event:
        case RequestReissued():
            node = event.again.node
        case CallFailed() | Settled() | WaitRequested() | WaitEnded():
            # What is asked for has a colon after its kind (`rest:NODE`, `expires:QUESTION`), or is the run's own wait.
            node = node_of(event.request_id.rpartition(":")[2])
        case (
            CallRequested()
            | ArtifactProduced()
            | FailureClassified()
            | JudgementRequested()
            | VerdictReached()
            | Decided()
            | ClarificationRequested()
        ):
            node = event.node
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            node = event.question_id
        case _:
            return {}
    if node in state.run.questions:
        node = state.run.questions[node].request.node
    return {"step": step_of(node), "node": node, "branch": branch_of(node)} if "/" in node else {}
