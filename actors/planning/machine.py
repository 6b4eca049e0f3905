"""The planning machine: the four functions together, and what the shell shows of a state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from actors.handlers.briefs import CallOptions, GenerationBrief, JudgementBrief
from actors.planning.accept import accept
from actors.planning.advance import advance
from actors.planning.call_events import ClassificationRequested, GenerationRequested, PlanningCall
from actors.planning.classifier_prompt import failure_context, rendered_failure
from actors.planning.config import RunConfig
from actors.planning.events import JudgementRequested, PlanningEvent
from actors.planning.evolve import evolve
from actors.planning.messages import PlanningMessage
from actors.planning.prompt_context import context_for, rendered
from actors.planning.state import Branch, PlanningOpenCall, PlanningState, State
from actors.policy.cause import CLASSIFIER
from actors.run import questions, waits
from actors.run.ids import child_run
from actors.run.questions import ClarificationRequested
from actors.run.state import NotStarted
from actors.run.summary import status_row
from actors.run.waits import WaitRequested
from runtime.core.ledger import Limits
from runtime.core.machine import Refused, Summary, Work


@dataclass(frozen=True, slots=True)
class ChildBrief:
    """The input of a step that is a run of its own: the run's id, its problem, its configuration, and its limits."""

    run: str
    request_id: str
    problem: str
    pinned: RunConfig
    limits: Limits
    change: Mapping[str, Any] = field(default_factory=dict)


Brief = GenerationBrief | ChildBrief | JudgementBrief | WaitRequested | ClarificationRequested


_NOT_STARTED = NotStarted()


class PlanningMachine:
    """`runtime.core.machine.Machine` for planning runs. It has no state of its own."""

    def initial(self) -> PlanningState:
        """Return the state before the run starts."""
        return _NOT_STARTED

    def accept(self, state: PlanningState, message: PlanningMessage) -> PlanningEvent | Refused | None:
        """Turn a reply into a fact."""
        return accept(state, message)

    def advance(self, state: PlanningState) -> PlanningEvent | None:
        """Return the next decision."""
        return advance(state)

    def evolve(self, state: PlanningState, event: PlanningEvent) -> State:
        """Return the state after the event."""
        return evolve(state, event)

    def outstanding(self, state: PlanningState) -> Mapping[str, Work]:
        """Return the open requests as work for steps, guards, the clock and the user."""
        if isinstance(state, NotStarted):
            return {}
        if state.run.finished is not None:
            return {}
        work: dict[str, Work] = {}
        held = state.run.held
        for request_id, opened in state.run.calls.open.items():
            if _carried_out(state, opened) and request_id not in held:
                work[request_id] = Work(request_id, _address(opened.request), opened.request)
        for request_id, judgement in state.judgements.items():
            work[request_id] = Work(request_id, f"guard:{judgement.step}", judgement, repeatable=True)
        if state.run.waits:
            work |= waits.work_of(state.run.waits)
        if state.run.questions:
            work |= questions.work_of(state.run.questions)
        return work

    def brief(self, state: PlanningState, work: Work) -> Brief:
        """Return what the actor that does this work may see."""
        assert isinstance(state, State)
        request: PlanningCall | JudgementRequested | WaitRequested | ClarificationRequested = work.request
        match request:
            case GenerationRequested():
                branch, step = state.branch_of(request.node), request.step
                if state.config.child_of(step) is not None:
                    return child_brief(state, branch, request)
                context = context_for(state, branch, step)
                prompt = rendered(state, branch, step, context)
                return GenerationBrief(state.run.run_id, _options(state, request), prompt, context)
            case JudgementRequested():
                artifact = state.nodes[request.node].artifact
                assert artifact is not None
                context = context_for(state, state.branch_of(request.node), request.step)
                return JudgementBrief(request, artifact, context)
            case ClassificationRequested():
                branch = state.branch_of(request.node)
                context = failure_context(state, branch, request.node)
                prompt = rendered_failure(state, branch, request.node, context)
                return GenerationBrief(state.run.run_id, _options(state, request), prompt, context)
            case WaitRequested() | ClarificationRequested():
                return request
            case _:
                assert_never(request)

    def summary(self, state: PlanningState) -> Summary:
        """Return the run's status row."""
        if isinstance(state, NotStarted):
            return Summary("running")
        held = state.run.held
        calls = [
            name for name, opened in state.run.calls.open.items() if _carried_out(state, opened) and name not in held
        ]
        return status_row(state.run, calls, working=bool(state.judgements))


def _carried_out(state: State, opened: PlanningOpenCall) -> bool:
    """Tell whether anybody does what a request asks for.

    An earlier driver's request is reissued or dropped, never carried out: it may lie there until the home's budget
    allows it to be asked again. A run of its own goes on.
    """
    return opened.epoch == state.run.epoch or state.is_child(opened.request)


def child_brief(state: State, branch: Branch, request: GenerationRequested) -> ChildBrief:
    """Return what a child run starts with.

    Its problem is the run's; with whatever the step has to build on or to mend it is the step's whole prompt, so that
    the child reads what a model would.
    """
    pinned = state.config.child_of(request.step)
    assert pinned is not None
    context = context_for(state, branch, request.step)
    more = (context.dependencies, context.retry, context.escalation, context.user_texts[1:], context.clarifications)
    problem = rendered(state, branch, request.step, context).user if any(more) else state.specification
    limits, reserve, seconds_left = state.run.ledger.limits, request.reserve, state.run.ledger.active_left
    return ChildBrief(
        run=child_run(state.run.run_id, request.node),
        request_id=request.request_id,
        problem=problem,
        pinned=pinned,
        limits=Limits(
            calls=reserve.calls,
            tokens=reserve.tokens or None,
            micro_usd=reserve.micro_usd or None,
            active_seconds=None if seconds_left is None else max(0.001, seconds_left),
            deadline=limits.deadline,
            patience_seconds=limits.patience_seconds,
        ),
        change=state.run.changes,
    )


def _address(request: PlanningCall) -> str:
    return f"step:{request.step}" if isinstance(request, GenerationRequested) else CLASSIFIER


def _options(state: State, request: PlanningCall) -> CallOptions:
    if isinstance(request, GenerationRequested):
        purpose = request.step
        step = state.config.steps[purpose]
        timeout_seconds, output_tokens_max = step.timeout_seconds, step.output_tokens_max
    else:
        purpose, workflow = CLASSIFIER, state.config.workflow
        timeout_seconds, output_tokens_max = workflow.model_timeout_seconds, workflow.output_tokens_max
    return CallOptions(request.request_id, purpose, request.timeout_seconds or timeout_seconds, output_tokens_max)
