"""The inputs of the actors of a planning run. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from actors.handlers.briefs import CallOptions, GenerationBrief, JudgementBrief
from actors.planning.config import RunConfig
from actors.planning.events import ClassificationRequested, GenerationRequested, JudgementRequested, PlanningCall
from actors.planning.prompt_context import context_for, failure_context, render_failure_prompt, render_prompt
from actors.planning.state import Branch, PlanningState, State
from actors.policy.table import CLASSIFIER
from actors.run.ids import child_run
from actors.run.questions import ClarificationRequested
from actors.run.waits import WaitRequested
from actors.values.given import Given
from runtime.core.ledger import Amount, Ledger, Limits
from runtime.core.machine import Work


@dataclass(frozen=True, slots=True)
class ChildBrief:
    """The input of a step that a child run carries out."""

    run: str
    request_id: str
    """The id of the parent's request, which the child answers."""
    problem: str
    """The child's problem; see `_child_brief`."""
    pinned: RunConfig
    limits: Limits
    """The limits of the child: the reservation of the request, and the parent's deadline and patience."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """The inbox message with the parent's settings that people changed; empty if none."""
    given: Given | None = None
    """The facts that the child is given; None if it finds them itself."""


Brief = GenerationBrief | ChildBrief | JudgementBrief | WaitRequested | ClarificationRequested
"""The part of a run that an actor gets to see."""


def brief_for(state: PlanningState, work: Work) -> Brief:
    """Return the part of the run that the actor of this work gets to see."""
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
            return JudgementBrief(request, artifact.copy_if_large(), context)
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

    Its problem is the problem of this run. But if the step has dependencies, feedback, or messages or answers of the
    user, it is the step's whole prompt.
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
    """Return the limits of a child run: the amount reserved for it, and the deadline and patience of its parent.

    Its `stop_below` is its own, but 0 if the parent never stops early.
    """
    above, seconds_left = ledger.limits, ledger.active_left
    return Limits(
        calls=reserve.calls,
        tokens=reserve.tokens or None,
        micro_usd=reserve.micro_usd or None,
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
