"""`evolve`: the only writer of state. It never decides, never acts, never fails on its own events."""

from collections.abc import Callable

from actors.execution import evolve_steps, evolve_troubles, evolve_undo
from actors.execution.config import read_config, ready_plan
from actors.execution.events import (
    AttemptDecided,
    EffectSettled,
    ExecutionCall,
    ExecutionEvent,
    ExecutionStarted,
    FileReplied,
    FileRequested,
    PlanRevised,
    ProofReached,
    ProofRequested,
    ReplanReplied,
    ReplanRequested,
    StepSettled,
    TroubleDecided,
    UndoDecided,
)
from actors.execution.state import State
from actors.execution.undo import is_undo_node
from actors.plans.constraints import constraints_of
from actors.plans.semantics import ready_steps
from actors.run.ending import RunFinished
from actors.run.evolve import CommonEvent
from actors.run.fork_event import Forked
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
"""What `RunMachine.common` is."""


def applied(common: Common, state: State, run: RunState[ExecutionCall], event: ExecutionEvent) -> State:
    """Return the state after an event; `run` is the common part after it.

    `common` is `RunMachine.common`, for the events that change nothing else of an execution.
    """
    if state.damaged is not None and not isinstance(event, RunFinished):
        state = changed(state, damaged=None)  # The run goes on, so the workspace may change again.
    if isinstance(event, SettingsChanged):
        return common(state, run, event)
    after = changed(state, run=run)
    match event:
        case ToolRequested() if is_undo_node(event.node):
            return evolve_undo.requested(after, event)
        case ToolReissued() if is_undo_node(event.again.node):
            return evolve_undo.requested(after, event.again)
        case ToolRequested() | FileRequested():
            return evolve_steps.requested(after, event.node, event if isinstance(event, ToolRequested) else None)
        case ToolFinished():
            opened = state.run.tools.get(event.request_id)
            ended = evolve_undo.tool_ended(after, event, None if opened is None else opened.request)
            ended = evolve_steps.tool_ended(ended, event)
            # A person has said what became of a call of the run that this one was forked from.
            return evolve_undo.made_before_fork(ended, opened.request.node) if opened and opened.forked else ended
        case ToolReissued():
            return evolve_undo.reissued(evolve_steps.requested(after, event.again.node, event.again), event.again)
        case StepSettled():
            return evolve_steps.settled(after, event)
        case AttemptDecided():
            return evolve_steps.decided(after, event)
        case FileReplied():
            return evolve_steps.replied(after, event)
        case ReplanRequested():
            return evolve_troubles.replan_requested(after, event)
        case ReplanReplied():
            return evolve_troubles.replan_replied(after, event)
        case ProofRequested() | ProofReached():
            return evolve_troubles.proof(after, event)
        case TroubleDecided():
            return evolve_troubles.decided(after, event)
        case UndoDecided():
            return evolve_undo.decided(after, event)
        case EffectSettled():
            return evolve_undo.effect_settled(after, event)
        case PlanRevised():
            return evolve_troubles.revised(after, event)
        case ClarificationRequested():
            return evolve_undo.asked(evolve_troubles.asked(evolve_steps.asked(after, event), event), event)
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationExpired():
            question = state.run.questions[event.question_id]
            if not question.open:  # A late answer is kept, and changes nothing.
                return after
            after = evolve_steps.answered(after, question.request, event)
            return evolve_undo.answered(evolve_troubles.answered(after, event), event)
        case WaitEnded() if event.request_id.startswith("rest:undo/"):
            return evolve_undo.rested(after)
        case WaitEnded():
            return evolve_steps.rested(after, state.run.waits[event.request_id])
        case Forked():
            config = read_config(event.pinned) if event.pinned else state.config
            return evolve_undo.made_before_fork(changed(after, config=config), *state.effects)
        case RunResumed() if state.run.undone(at_once=event.at_once):
            return evolve_troubles.reopened(after)
        case ExecutionStarted():
            return state
        case _:
            return common(state, run, event)


def started(event: ExecutionStarted) -> State:
    """Return the state after the first event."""
    config = read_config(event.pinned)
    plan = ready_plan(config.plan)
    state = State(
        run=RunState.begun(event),
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
    return evolve_steps.constrained(state, constraints_of(plan.json))
