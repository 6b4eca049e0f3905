"""What replies and verdicts mean to a planning run. Pure."""

from actors.planning.events import (
    ArtifactProduced,
    FailureClassified,
    GenerationRequested,
    PlanningCall,
    VerdictReached,
)
from actors.planning.given_plans import make_content, with_remarks
from actors.planning.state import State
from actors.policy.cause import read_cause
from actors.run.calls import ReplyFields
from actors.run.messages import Judged
from actors.values.findings import limit_verdict


def accept_reply(state: State, request: PlanningCall, fields: ReplyFields) -> ArtifactProduced | FailureClassified:
    """Return the event of a reply: an artifact, or the class of a failure."""
    if isinstance(request, GenerationRequested):
        earlier = _earlier(state, request.node, request.step, fields["content"], fields["finish_reason"])
        return ArtifactProduced(**fields, repeats=earlier)
    return FailureClassified(**fields, cause=read_cause(fields["content"]))


def _earlier(state: State, node: str, step: str, content: str, finish_reason: str) -> str | None:
    """Return the id of the first attempt at the step, in the node's branch, with the same content; None for none."""
    same = state.made.get((step, make_content(state, step, content, finish_reason).content), ())
    return next((name for name in state.branch_of(node).attempts[step] if name in same), None) if same else None


def accept_verdict(state: State, message: Judged) -> VerdictReached | None:
    """Return the event of a verdict; None for one that nothing waits for."""
    request = state.judgements.get(message.request_id)
    if request is None:
        return None
    verdict = with_remarks(state, request.node, message.verdict)
    return VerdictReached(
        node=request.node,
        at=message.at,
        mono=message.mono,
        elapsed=message.elapsed,
        verdict=limit_verdict(verdict),
    )
