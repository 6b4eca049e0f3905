"""`accept`: replies from the world become facts, or are refused, or are duplicates. Pure."""

from typing import assert_never

from actors.execution.events import (
    ExecutionEvent,
    ExecutionStarted,
    FileReplied,
    FileRequested,
    ProofReached,
    ReplanReplied,
    ReplanRequested,
)
from actors.execution.ids import proof_node
from actors.execution.state import ExecutionState, State
from actors.run import tools
from actors.run.accept import accept_control, accept_fault
from actors.run.calls import Received, accept_reply
from actors.run.ending import exhausted
from actors.run.messages import Faulted, Generated, Judged, RunMessage
from actors.run.state import NotStarted
from actors.values.verdict_limits import bounded
from runtime.core.ledger import Limit
from runtime.core.machine import Refused


def accept(state: ExecutionState, message: RunMessage) -> ExecutionEvent | Refused | None:
    """Return the fact that a message is."""
    if isinstance(message, ExecutionStarted):
        return message if isinstance(state, NotStarted) else None
    if isinstance(state, NotStarted):
        return Refused("the run has not begun")
    match message:
        case Generated():
            return _generated(state, message)
        case Faulted():
            return accept_fault(state.run, message)
        case Judged():
            return _judged(state, message)
        case tools.Begun() | tools.Ended() | tools.Checked():
            return tools.accept(state.run.tools, message)
        case _:
            return accept_control(state.run, message)


def _generated(state: State, message: Generated) -> ExecutionEvent | None:
    received = accept_reply(state.run.calls, state.run.ledger, message, state.config.price)
    if not isinstance(received, Received):
        return received
    request, fields = received
    limit = state.run.ledger.limits.deadline
    if message.out_of_time and limit is not None and message.at >= limit:
        return exhausted(Limit.DEADLINE)  # Whoever sets the deadline anew goes on with the planning run.
    match request:
        case FileRequested():
            return FileReplied(**fields)
        case ReplanRequested():
            return ReplanReplied(**fields)
        case _:
            assert_never(request)


def _judged(state: State, message: Judged) -> ProofReached | None:
    replan = state.replan
    if not state.proving or replan is None or message.request_id != proof_node(state.revision, replan.number):
        return None
    return ProofReached(
        node=message.request_id,
        at=message.at,
        mono=message.mono,
        elapsed=message.elapsed,
        verdict=bounded(message.verdict),
    )
