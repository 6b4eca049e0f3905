"""Requests for calls, which reserve the most that the call can cost, and the events for their results. Pure."""

from typing import assert_never

from actors.planning.config import RunConfig
from actors.planning.events import (
    ArtifactProduced,
    ClassificationRequested,
    FailureClassified,
    GenerationRequested,
    PlanningCall,
    VerdictReached,
    classification_id,
)
from actors.planning.given_plans import add_remarks, make_content
from actors.planning.prompt_context import render_failure_prompt, render_prompt
from actors.planning.state import Branch, State
from actors.policy.table import CLASSIFIER, read_cause
from actors.prompting.book import schema_bytes
from actors.run.calls import FRAMING_TOKENS, Judged, ReplyFields, child_share
from actors.run.ids import step_of
from actors.run.machine import CallPrompt, try_fields
from actors.values.findings import limit_verdict
from runtime.core.ledger import ZERO


def next_try(state: State, request: PlanningCall) -> PlanningCall:
    """Return the request for the next try of a call, whichever branch it belongs to."""
    branch = state.branch_of(request.node)
    match request:
        case GenerationRequested():
            return request_for(state, branch, request.node, request.try_number + 1)
        case ClassificationRequested():
            return classification_of(state, branch, request.node, request.rule, request.try_number + 1)
        case _:
            assert_never(request)


def prompt_of(state: State, request: PlanningCall) -> CallPrompt | None:
    """Return the prompt of a call; None if the step asks no model."""
    branch = state.branch_of(request.node)
    if isinstance(request, ClassificationRequested):
        return _classifier_prompt(state, branch, request.node)
    return None if state.config.steps[request.step].prompt is None else _step_prompt(state, branch, request.step)


def request_for(state: State, branch: Branch, node: str, try_number: int) -> GenerationRequested:
    """Return the request for a try of an attempt, with the current prompt, limits and reservation."""
    step, reserve = step_of(node), None
    budget = state.config.graph.budgets[step]
    if state.config.steps[step].child is not None:
        reserve = child_share(state.run.ledger, budget.calls)
    elif budget.deterministic:
        reserve = ZERO
    fields = try_fields(state, _step_prompt(state, branch, step), node, try_number, reserve=reserve)
    return GenerationRequested(**fields)


def classification_of(state: State, branch: Branch, node: str, rule: str, try_number: int) -> ClassificationRequested:
    """Return the request for a try of a classification, with the current prompt, limits and reservation."""
    prompt = _classifier_prompt(state, branch, node)
    fields = try_fields(state, prompt, node, try_number, call=classification_id(node))
    return ClassificationRequested(**fields, rule=rule)


def _step_prompt(state: State, branch: Branch, step: str) -> CallPrompt:
    config = state.config.steps[step]
    return CallPrompt(
        step,
        render_prompt(state, branch, step),
        config.output_tokens_max,
        config.timeout_seconds,
        own_price=config.price if config.model else None,
        model=config.model,
        schema_bytes=schema_bytes(config.role),
    )


def _classifier_prompt(state: State, branch: Branch, node: str) -> CallPrompt:
    workflow = state.config.workflow
    return CallPrompt(
        CLASSIFIER,
        render_failure_prompt(state, branch, node),
        workflow.output_tokens_max,
        workflow.model_timeout_seconds,
        schema_bytes=schema_bytes(CLASSIFIER),
    )


def prompt_bytes(config: RunConfig, request: GenerationRequested) -> int:
    """Return the size of a step's prompt in bytes, computed from the reservation of its request."""
    step = config.steps[request.step]
    return request.tokens_max - step.output_tokens_max - schema_bytes(step.role) - FRAMING_TOKENS


def accept_reply(state: State, request: PlanningCall, fields: ReplyFields) -> ArtifactProduced | FailureClassified:
    """Return the event of a reply: an artifact, or the cause of a rejection."""
    if isinstance(request, GenerationRequested):
        earlier = _earlier(state, request.node, request.step, fields["content"], fields["finish_reason"])
        return ArtifactProduced(**fields, repeats=earlier)
    return FailureClassified(**fields, cause=read_cause(fields["content"]))


def _earlier(state: State, node: str, step: str, content: str, finish_reason: str) -> str | None:
    """Return the id of the branch's first attempt at the step with the same content; None if there is none."""
    same = state.made.get((step, make_content(state, step, content, finish_reason).content), ())
    return next((name for name in state.branch_of(node).attempts[step] if name in same), None) if same else None


def accept_verdict(state: State, message: Judged) -> VerdictReached | None:
    """Return the event of a verdict; None if nothing waits for it."""
    request = state.judgements.get(message.request_id)
    if request is None:
        return None
    verdict = add_remarks(state, request.node, message.verdict)
    return VerdictReached(
        node=request.node,
        at=message.at,
        mono=message.mono,
        elapsed=message.elapsed,
        verdict=limit_verdict(verdict),
    )
