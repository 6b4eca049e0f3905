"""What an event is about: the step, the node and the branch that logs and actors are bound to."""

from collections.abc import Mapping

from actors.machine.calls import CallRequested, GenerationFailed, Replied, RequestReissued, Settled
from actors.machine.decided import Decided
from actors.machine.events import (
    ClarificationRequested,
    JudgementRequested,
    PlanningEvent,
    VerdictReached,
    WaitEnded,
    WaitRequested,
)
from actors.machine.ids import branch_of, node_of, step_of


def about(event: PlanningEvent) -> Mapping[str, str | int]:
    """Return `step`, `node` and `branch` (0 is the first) of an event that names a node or a request for one.

    Empty for all others: what is about a whole branch has a field for it, and the rest is about the run.
    """
    match event:
        case RequestReissued():
            node = event.again.node
        case Settled() | WaitRequested() | WaitEnded():
            # What is asked for has a colon after its kind (`rest:NODE`); the run's own waits name no node.
            node = node_of(event.request_id.rpartition(":")[2])
        case (
            CallRequested()
            | Replied()
            | GenerationFailed()
            | JudgementRequested()
            | VerdictReached()
            | Decided()
            | ClarificationRequested()
        ):
            node = event.node
        case _:
            return {}
    return {"step": step_of(node), "node": node, "branch": branch_of(node)} if "/" in node else {}
