"""Applies events to the state of an execution. No other code changes that state. Pure.

This module makes no decisions, and never fails on an event that the machine has made.
"""

from collections.abc import Callable
from typing import assert_never

from actors.execution import evolve_steps, evolve_troubles, evolve_undo
from actors.execution.attempts import Answer
from actors.execution.config import read_config, ready_plan
from actors.execution.events import (
    AttemptDecided,
    EffectSettled,
    ExecutionCall,
    ExecutionEvent,
    ExecutionStarted,
    FileReplied,
    FileRequested,
    PlanEdited,
    PlanRevised,
    ProofReached,
    ProofRequested,
    ReplanReplied,
    ReplanRequested,
    StepSettled,
    TroubleDecided,
    UndoDecided,
)
from actors.execution.ids import Owner, owner_of
from actors.execution.state import State
from actors.plans.constraints import constraints_of
from actors.plans.semantics import ready_steps
from actors.run.ending import RunFinished
from actors.run.evolve import CommonEvent
from actors.run.fork_event import Forked
from actors.run.ids import is_rest
from actors.run.parking import RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
)
from actors.run.settings import SettingsChanged
from actors.run.state import RunState
from actors.run.tools import ToolFinished, ToolReissued, ToolRequested
from actors.run.waits import WaitEnded
from runtime.core.copies import changed

Common = Callable[[State, RunState[ExecutionCall], CommonEvent], State]


def apply_event(common: Common, state: State, run: RunState[ExecutionCall], event: ExecutionEvent) -> State:
    """Return the state after an event. `run` is the common part of the state after the event.

    All kinds of runs share the common part. The function `common` applies the events that change only this part.
    """
    if state.damaged is not None and not isinstance(event, RunFinished):
        state = changed(state, damaged=None)  # The run goes on, so the workspace may change again.
    if isinstance(event, SettingsChanged):
        return common(state, run, event)
    after = changed(state, run=run)
    match event:
        case ToolRequested() if owner_of(event.node) is Owner.UNDO:
            return evolve_undo.record_request(after, event)
        case ToolReissued() if owner_of(event.again.node) is Owner.UNDO:
            return evolve_undo.record_request(after, event.again)
        case ToolRequested() | FileRequested():
            return evolve_steps.record_request(after, event.node, event if isinstance(event, ToolRequested) else None)
        case ToolFinished():
            return _with_end_of_call(state, after, event)
        case ToolReissued():
            return evolve_undo.record_reissue(
                evolve_steps.record_request(after, event.again.node, event.again), event.again
            )
        case StepSettled():
            return evolve_steps.settle_step(after, event)
        case AttemptDecided():
            return evolve_steps.apply_decision(after, event)
        case FileReplied():
            return evolve_steps.record_reply(after, event)
        case ReplanRequested():
            return evolve_troubles.record_replan_request(after, event)
        case ReplanReplied():
            return evolve_troubles.record_replan_reply(after, event)
        case ProofRequested() | ProofReached():
            return evolve_troubles.record_proof(after, event)
        case TroubleDecided():
            return evolve_troubles.apply_decision(after, event)
        case UndoDecided():
            return evolve_undo.begin_undo(after, event)
        case EffectSettled():
            return evolve_undo.settle_effect(after, event)
        case PlanEdited():
            return evolve_troubles.begin_edit(after, event)
        case PlanRevised():
            return evolve_troubles.adopt_plan(after, event)
        case ClarificationRequested():
            return _with_question(after, event)
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationExpired():
            question = state.run.questions[event.question_id]
            if not question.open:  # A late answer is kept, and changes nothing.
                return after
            return _with_answer(after, question.request, event)
        case WaitEnded() if is_rest(event.request_id):
            wait = state.run.waits[event.request_id]
            if owner_of(wait.node) is Owner.UNDO:
                return evolve_undo.end_backoff(after)
            return evolve_steps.end_backoff(after, wait)
        case WaitEnded():
            return after
        case Forked():
            config = read_config(event.pinned) if event.pinned else state.config
            return evolve_undo.mark_calls_before_fork(changed(after, config=config), *state.effects)
        case RunResumed() if state.run.undoes_end(at_once=event.at_once):
            return evolve_troubles.reopen_run(after)
        case ExecutionStarted():
            return state
        case _:
            return common(state, run, event)


def _with_end_of_call(before: State, after: State, event: ToolFinished) -> State:
    opened = before.run.tools.get(event.request_id)
    if opened is not None and owner_of(opened.request.node) is Owner.UNDO:
        after = evolve_undo.record_tool_end(after, event, opened.request)
    else:
        after = evolve_steps.record_tool_end(after, event)
    # If a person had to say how a call ended, the original of this fork made the call.
    return evolve_undo.mark_calls_before_fork(after, opened.request.node) if opened and opened.forked else after


def _with_question(state: State, event: ClarificationRequested) -> State:
    match owner_of(event.node):
        case Owner.STEP:
            return evolve_steps.record_question(state, event)
        case Owner.TROUBLE | Owner.PLANNER:
            return evolve_troubles.record_question(state, event)
        case Owner.UNDO:
            return evolve_undo.record_question(state, event)
        case Owner.OTHER:
            return state
        case unknown:
            assert_never(unknown)


def _with_answer(state: State, question: ClarificationRequested, event: Answer) -> State:
    match owner_of(question.node):
        case Owner.STEP:
            return evolve_steps.record_answer(state, question, event)
        case Owner.TROUBLE | Owner.PLANNER:
            return evolve_troubles.record_answer(state, event)
        case Owner.UNDO:
            return evolve_undo.record_answer(state, event)
        case Owner.OTHER:
            return state
        case unknown:
            assert_never(unknown)


def start_state(event: ExecutionStarted) -> State:
    """Return the state after the first event."""
    config = read_config(event.pinned)
    plan = ready_plan(config.plan)
    state = State(
        run=RunState.begin(event),
        config=config,
        plan=plan,
        now=plan.program.initial,
        ready=tuple(ready_steps(plan.program, plan.program.initial)),
        assurance=config.assurance,
        plan_of=event.plan_of,
        unnamed=plan.unnamed,
        replans_left=config.replans_max,
        questions_left=config.questions_max,
    )
    return evolve_steps.set_constraints(state, constraints_of(plan.json))
