"""The planning machine: the four functions together, and what the shell shows of a state."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, assert_never

from actors.planning.accept import accept
from actors.planning.advance import advance
from actors.planning.branches import focus
from actors.planning.classifier_prompt import failure_context, rendered_failure
from actors.planning.config import RunConfig
from actors.planning.events import (
    ClarificationRequested,
    ClassificationRequested,
    GenerationRequested,
    JudgementRequested,
    PlanningEvent,
    WaitRequested,
)
from actors.planning.evolve import evolve
from actors.planning.ids import branch_of, child_run
from actors.planning.messages import PlanningMessage
from actors.planning.prompt_context import context_for, rendered
from actors.planning.state import Open, State
from actors.policy.cause import CLASSIFIER
from actors.prompting.render import Rendered
from actors.values.artifacts import Artifact, Context
from runtime.core.ledger import ZERO, Ledger, Limits
from runtime.core.machine import Refused, Summary, Work

CLOCK = "clock"
"""The address of the actor that waits."""
USER = "user"
"""The address of questions; a run that only has these needs no process."""


class CallOptions(NamedTuple):
    """What a generator needs to know of its request: its name, what it is for (a step), and what it may take."""

    request_id: str
    purpose: str
    timeout_seconds: float
    output_tokens_max: int


class GenerationBrief(NamedTuple):
    """What a step's generator gets: the request, the rendered prompt, and the same context in structured form."""

    run: str
    request: CallOptions
    prompt: Rendered
    context: Context


class JudgementBrief(NamedTuple):
    """What a guard gets."""

    request: JudgementRequested
    artifact: Artifact
    context: Context


@dataclass(frozen=True, slots=True)
class ChildBrief:
    """What a step that is a run of its own gets: the run's id, its problem, what it is pinned to, and its limits."""

    run: str
    request_id: str
    problem: str
    pinned: RunConfig
    limits: Limits


Brief = GenerationBrief | ChildBrief | JudgementBrief | WaitRequested | ClarificationRequested


_INITIAL = State()


class PlanningMachine:
    """`runtime.core.machine.Machine` for planning runs. It has no state of its own."""

    def initial(self) -> State:
        """Return the state before the run starts."""
        return _INITIAL

    def accept(self, state: State, message: PlanningMessage) -> PlanningEvent | Refused | None:
        """Turn a reply into a fact."""
        return accept(state, message)

    def advance(self, state: State) -> PlanningEvent | None:
        """Return the next decision."""
        return advance(state)

    def evolve(self, state: State, event: PlanningEvent) -> State:
        """Return the state after the event."""
        return evolve(state, event)

    def outstanding(self, state: State) -> Mapping[str, Work]:
        """Return the open requests as work for steps, guards, the clock and the user."""
        work: dict[str, Work] = {}
        for request_id, opened in state.generations.items():
            if _carried_out(state, opened):
                work[request_id] = Work(request_id, _address(opened.request), opened.request)
        for request_id, judgement in state.judgements.items():
            work[request_id] = Work(request_id, f"guard:{judgement.step}", judgement, repeatable=True)
        for request_id, wait in state.waits.items():
            # Nobody keeps a process for a deadline, an expiry or the next day: whoever comes later finds them passed.
            passive = wait.node is None
            work[request_id] = Work(
                request_id, CLOCK, wait, repeatable=True, keeps_no_process=passive, until=wait.until
            )
        for request_id, question in state.questions.items():
            work[request_id] = Work(request_id, USER, question, repeatable=True)
        return work

    def brief(self, state: State, work: Work) -> Brief:
        """Return what the actor that does this work may see."""
        request: (
            GenerationRequested | ClassificationRequested | JudgementRequested | WaitRequested | ClarificationRequested
        ) = work.request
        match request:
            case GenerationRequested() if state.is_child(request):
                return child_brief(_at(state, request.node), request)
            case GenerationRequested():
                state, step = _at(state, request.node), request.step
                context = context_for(state, step)
                return GenerationBrief(state.run, _asked(state, request), rendered(state, step, context), context)
            case ClassificationRequested():
                state = _at(state, request.node)
                context = failure_context(state, request.node)
                asked = _asked(state, request)
                return GenerationBrief(state.run, asked, rendered_failure(state, request.node, context), context)
            case JudgementRequested():
                artifact = state.nodes[request.node].artifact
                assert artifact is not None
                return JudgementBrief(request, artifact, context_for(_at(state, request.node), request.step))
            case WaitRequested() | ClarificationRequested():
                return request
            case _:
                assert_never(request)

    def summary(self, state: State) -> Summary:
        """Return the run's status row."""
        # What a child uses is what the run above has reserved. What an earlier driver has reserved nobody gives back.
        books = Ledger(state.ledger.limits) if state.child else state.ledger
        open_now = [name for name, opened in state.generations.items() if _carried_out(state, opened)]
        reserved = sum((books.reserved.get(name, ZERO) for name in open_now), ZERO)
        row = partial(Summary, committed=books.committed, reserved=reserved)
        if state.finished is not None:
            return row("finished", str(state.finished.outcome))
        if state.child:  # The run above goes on with it, and nobody else.
            return row("parked")
        rests = not (state.judgements or open_now)
        wake = min((wait.until for wait in state.waits.values()), default=None) if rests else None
        if state.questions and rests:
            return row("waiting", next(iter(state.questions)), state.asked_at, wake)
        if state.parked:
            return row("running" if state.handover else "parked", state.parked_why)
        return row("running", next_wake=wake)


def _carried_out(state: State, opened: Open) -> bool:
    """Tell whether anybody does what a request asks for.

    An earlier driver's request is reissued or dropped, never carried out: it may lie there until the home's budget
    allows it to be asked again. A run of its own goes on.
    """
    return opened.epoch == state.epoch or state.is_child(opened.request)


def _at(state: State, node: str) -> State:
    """Return the state with the node's branch in focus."""
    return focus(state, branch_of(node)) if state.branches else state


def child_brief(state: State, request: GenerationRequested) -> ChildBrief:
    """Return what a step's own run starts with.

    Its problem is the run's; with whatever the step has to build on or to mend it is the step's whole prompt, so that
    the run below reads what a model would.
    """
    assert state.config is not None
    pinned = state.config.child_of(request.step)
    assert pinned is not None
    context = context_for(state, request.step)
    more = (context.dependencies, context.retry, context.escalation, context.said[1:], context.clarifications)
    problem = rendered(state, request.step, context).user if any(more) else state.specification
    limits, reserve, left = state.ledger.limits, request.reserve, state.ledger.active_left
    return ChildBrief(
        run=child_run(state.run, request.node),
        request_id=request.request_id,
        problem=problem,
        pinned=pinned,
        limits=Limits(
            calls=reserve.calls,
            tokens=reserve.tokens or None,
            micro_usd=reserve.micro_usd or None,
            active_seconds=None if left is None else max(0.001, left),
            deadline=limits.deadline,
        ),
    )


def _address(request: GenerationRequested | ClassificationRequested) -> str:
    return CLASSIFIER if isinstance(request, ClassificationRequested) else f"step:{request.step}"


def _asked(state: State, request: GenerationRequested | ClassificationRequested) -> CallOptions:
    assert state.config is not None
    step, workflow = request.step, state.config.workflow
    generates = isinstance(request, GenerationRequested)
    limit = workflow.timeout_seconds_of(step) if generates else workflow.model_timeout_seconds
    return CallOptions(
        request_id=request.request_id,
        purpose=step if generates else CLASSIFIER,
        timeout_seconds=request.timeout_seconds or limit,
        output_tokens_max=workflow.output_tokens_max_of(step) if generates else workflow.output_tokens_max,
    )
