"""What the actors of an execution are handed with an open request. Pure."""

from typing import Any

from actors.execution.events import FileRequested, ProofRequested, ReplanRequested
from actors.execution.prompt import rendered_file
from actors.execution.replan_brief import replan_brief
from actors.execution.state import ExecutionState, State
from actors.handlers.briefs import JudgementBrief
from actors.values.artifacts import Artifact, Context
from runtime.core.machine import Work
from runtime.models.port import ModelRequest


def brief_for(state: ExecutionState, work: Work) -> Any:
    """Return what the actor that does this work may see: for tools, waits and questions, the request itself."""
    request = work.request
    match request:
        case FileRequested():
            assert isinstance(state, State)
            return _file_brief(state, request)
        case ReplanRequested():
            assert isinstance(state, State)
            return replan_brief(state, request)
        case ProofRequested():
            assert isinstance(state, State)
            return _proof_brief(state, request)
        case _:
            return request


def _file_brief(state: State, request: FileRequested) -> ModelRequest:
    attempt, config = state.attempt_at(request.node), state.config
    assert attempt is not None, "an open request is that of a phase at work"
    prompt = rendered_file(state, attempt)
    return ModelRequest(
        request_id=request.request_id,
        purpose=attempt.step,
        system=prompt.system,
        user=prompt.user,
        timeout_seconds=request.timeout_seconds or config.timeout_seconds,
        output_tokens_max=config.output_tokens_max,
        run=state.run.run_id,
    )


def _proof_brief(state: State, request: ProofRequested) -> JudgementBrief:
    assert state.replan is not None, "only a replan's plan is proved"
    artifact = Artifact(request.node, "plan", state.replan.plan, request.node)
    return JudgementBrief(request, artifact, Context(state.config.problem))
