"""The requests for calls, the events of their results, and the inputs of actors. Pure.

A request reserves the most that its call can cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from actors.handlers.briefs import CallOptions, GenerationBrief, JudgementBrief
from actors.planning.config import RunConfig
from actors.planning.events import (
    ArtifactProduced,
    ClassificationRequested,
    FailureClassified,
    GenerationRequested,
    JudgementRequested,
    PlanningCall,
    VerdictReached,
    classification_id,
)
from actors.planning.given_plans import add_remarks, make_content
from actors.planning.prompt_context import context_for, failure_context, render_failure_prompt, render_prompt
from actors.planning.state import Branch, PlanningState, State
from actors.policy.table import CLASSIFIER, read_cause
from actors.prompting.book import schema_bytes
from actors.run.calls import FRAMING_TOKENS, Judged, ReplyFields, child_share
from actors.run.ids import child_run, step_of
from actors.run.machine import CallPrompt, try_fields
from actors.run.questions import ClarificationRequested
from actors.run.waits import WaitRequested
from actors.values.findings import limit_verdict
from actors.values.given import Given
from runtime.core.ledger import COUNTED, ZERO, Amount, Ledger, Limits
from runtime.core.machine import Work


def next_try(state: State, request: PlanningCall) -> PlanningCall:
    """Return the request for the next try of a call, in any branch."""
    branch = state.branch_of(request.node)
    match request:
        case GenerationRequested():
            return request_for(state, branch, request.node, request.try_number + 1)
        case ClassificationRequested():
            return classification_of(state, branch, request.node, request.rule, request.try_number + 1)
        case _:
            assert_never(request)


def prompt_of(state: State, request: PlanningCall) -> CallPrompt | None:
    """Return the prompt of a call; None if the step calls no model."""
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
    """Return the event for a reply. The reply is an artifact, or the cause of a rejection."""
    if isinstance(request, GenerationRequested):
        earlier = _earlier(state, request.node, request.step, fields["content"], fields["finish_reason"])
        return ArtifactProduced(**fields, repeats=earlier)
    return FailureClassified(**fields, cause=read_cause(fields["content"]))


def _earlier(state: State, node: str, step: str, content: str, finish_reason: str) -> str | None:
    same = state.made.get((step, make_content(state, step, content, finish_reason).content), ())
    return next((name for name in state.branch_of(node).attempts[step] if name in same), None) if same else None


def accept_verdict(state: State, message: Judged) -> VerdictReached | None:
    """Return the event for a verdict; None if no open request asks for the verdict."""
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


@dataclass(frozen=True, slots=True)
class ChildBrief:
    """The input of a child run that carries out a step."""

    run: str
    request_id: str
    problem: str
    pinned: RunConfig
    limits: Limits
    change: Mapping[str, Any] = field(default_factory=dict)
    """The inbox message with the parent's settings that people changed; empty if they changed nothing."""
    given: Given | None = None


Brief = GenerationBrief | ChildBrief | JudgementBrief | WaitRequested | ClarificationRequested


def brief_for(state: PlanningState, work: Work) -> Brief:
    """Return the input of the actor that does a piece of work."""
    assert isinstance(state, State)
    request: PlanningCall | JudgementRequested | WaitRequested | ClarificationRequested = work.request
    match request:
        case GenerationRequested():
            branch, step = state.branch_of(request.node), request.step
            if state.config.child_of(step) is not None:
                return _child_brief(state, branch, request)
            context = context_for(state, branch, step)
            prompt = render_prompt(state, branch, step, context)
            return GenerationBrief(state.run.run_id, _options(state, request), prompt, context)
        case JudgementRequested():
            artifact = state.nodes[request.node].artifact
            assert artifact is not None
            context = context_for(state, state.branch_of(request.node), request.step)
            return JudgementBrief(request.request_id, request.guard, artifact.copy_if_large(), context)
        case ClassificationRequested():
            branch = state.branch_of(request.node)
            context = failure_context(state, branch, request.node)
            prompt = render_failure_prompt(state, branch, request.node, context)
            return GenerationBrief(state.run.run_id, _options(state, request), prompt, context)
        case WaitRequested() | ClarificationRequested():
            return request
        case _:
            assert_never(request)


def _child_brief(state: State, branch: Branch, request: GenerationRequested) -> ChildBrief:
    """Return the input of a child run.

    The child's problem is usually the problem of this run. But if the step has dependencies, feedback, messages or
    answers, the child's problem is the step's whole prompt.
    """
    pinned = state.config.child_of(request.step)
    assert pinned is not None
    context = context_for(state, branch, request.step)
    feedback = (context.retry, context.escalation, context.afresh is not None)
    more = (context.dependencies, *feedback, context.user_texts[1:], context.clarifications)
    problem = render_prompt(state, branch, request.step, context).user if any(more) else state.specification
    return ChildBrief(
        run=child_run(state.run.run_id, request.node),
        request_id=request.request_id,
        problem=problem,
        pinned=pinned,
        limits=limits_of_child(state.run.ledger, request.reserve, pinned),
        change=state.run.changes,
        given=state.given,
    )


def limits_of_child(ledger: Ledger, reserve: Amount, pinned: RunConfig) -> Limits:
    """Return the limits of a child run: the amounts that its request reserves, and the parent's deadline and patience.

    `stop_below` (the smallest chance of success per call that a move must have) comes from the child's configuration.
    It is 0 if the parent never stops early.
    """
    above, seconds_left = ledger.limits, ledger.active_left
    amounts: dict[str, Any] = {limit.key: getattr(reserve, limit.key) or None for limit in COUNTED}
    return Limits(
        **amounts,
        active_seconds=None if seconds_left is None else max(0.001, seconds_left),
        deadline=ledger.ends_at,
        patience_seconds=above.patience_seconds,
        stop_below=0.0 if above.stop_below == 0.0 and pinned.stop_below is not None else pinned.stop_below,
    )


def _options(state: State, request: PlanningCall) -> CallOptions:
    if isinstance(request, GenerationRequested):
        purpose = request.step
        step = state.config.steps[purpose]
        timeout_seconds, output_tokens_max = step.timeout_seconds, step.output_tokens_max
        settings, model = step.settings, step.model
    else:
        purpose, workflow = CLASSIFIER, state.config.workflow
        timeout_seconds, output_tokens_max = workflow.model_timeout_seconds, workflow.output_tokens_max
        settings, model = state.config.classifier_settings, ""
    seconds = request.timeout_seconds or timeout_seconds
    return CallOptions(request.request_id, purpose, seconds, output_tokens_max, settings, model)
