"""`accept`: replies from the world become facts, or are refused, or are duplicates. Pure."""

from actors.planning.call_events import ArtifactProduced, FailureClassified, GenerationRequested
from actors.planning.events import PlanningEvent, RunFinished, RunStarted, VerdictReached
from actors.planning.given_plans import content_made, with_remarks
from actors.planning.state import PlanningState, State
from actors.policy.cause import read_cause
from actors.run import ending
from actors.run.accept import accept_control, accept_fault
from actors.run.calls import Received, accept_reply
from actors.run.messages import Faulted, Generated, Judged, RunMessage
from actors.run.state import NotStarted
from actors.values.verdict_limits import bounded
from runtime.core.ledger import Limit
from runtime.core.machine import Refused


def accept(state: PlanningState, message: RunMessage) -> PlanningEvent | Refused | None:
    """Return the fact that a message is."""
    if isinstance(message, RunStarted):
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
        case _:
            event = accept_control(state.run, message)
            return RunFinished.of(event) if isinstance(event, ending.RunFinished) else event


def _generated(state: State, message: Generated) -> PlanningEvent | None:
    received = accept_reply(state.run.calls, state.run.ledger, message, state.config.price)
    if not isinstance(received, Received):
        return received
    request, fields = received
    limit = state.run.ledger.limits.deadline
    if message.out_of_time and limit is not None and message.at >= limit:
        # Whoever sets the deadline anew goes on with the child run, so that it is not said to have found nothing.
        return RunFinished.of(ending.exhausted(Limit.DEADLINE))
    if isinstance(request, GenerationRequested):
        earlier = _earlier(state, request.node, request.step, fields["content"], fields["finish_reason"])
        return ArtifactProduced(**fields, repeats=earlier)
    return FailureClassified(**fields, cause=read_cause(fields["content"]))


def _earlier(state: State, node: str, step: str, content: str, finish_reason: str) -> str | None:
    """Return the first attempt at the step, in the node's branch, that brought the same."""
    same = state.made.get((step, content_made(state, step, content, finish_reason).content), ())
    return next((name for name in state.branch_of(node).attempts[step] if name in same), None) if same else None


def _judged(state: State, message: Judged) -> VerdictReached | None:
    request = state.judgements.get(message.request_id)
    if request is None or state.run.finished is not None:
        return None
    verdict = with_remarks(state, request.node, message.verdict)
    return VerdictReached(
        node=request.node,
        at=message.at,
        mono=message.mono,
        elapsed=message.elapsed,
        verdict=bounded(verdict),
    )
