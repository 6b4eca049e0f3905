"""`evolve`: the only writer of state. It never decides, never acts, never fails on its own events."""

from typing import assert_never

from actors.execution import evolve_steps, evolve_troubles
from actors.execution.config import read_config, ready_plan
from actors.execution.events import (
    AttemptDecided,
    ExecutionCallReissued,
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
)
from actors.execution.state import ExecutionState, State
from actors.plans.constraints import constraints_of
from actors.plans.semantics import ready_steps
from actors.run import tools
from actors.run.calls import CallFailed, Settled
from actors.run.ending import RunFinished
from actors.run.evolve import TIMED, evolve_run, timed
from actors.run.inbox import MailRefused, NoteTold, RequirementTold, seen
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.settings import SettingsChanged
from actors.run.state import NotStarted, RunState
from actors.run.waits import WaitEnded, WaitRequested
from runtime.core.copies import changed


def evolve(state: ExecutionState, event: ExecutionEvent) -> State:
    """Return the state after the event, with the time and the active time kept."""
    if isinstance(state, NotStarted):
        assert isinstance(event, ExecutionStarted), "a run begins with its start"
        return _started(event)
    if isinstance(event, TIMED):
        working = bool(state.run.calls.open or tools.busy(state.run.tools) or state.proving)
        state = changed(state, run=timed(state.run, event, working=working))
    return _evolve(state, event)


def _evolve(state: State, event: ExecutionEvent) -> State:
    match event:
        case tools.ToolRequested():
            return evolve_steps.requested(_common(state, event), event.node, event)
        case tools.ToolFinished():
            return evolve_steps.tool_ended(_common(state, event), event)
        case tools.ToolReissued():
            return evolve_steps.requested(_common(state, event), event.again.node, event.again)
        case tools.ToolStarted() | tools.ToolCheckRequested() | tools.ToolProcessEnded():
            return _common(state, event)
        case StepSettled():
            return evolve_steps.settled(state, event)
        case AttemptDecided():
            return evolve_steps.decided(state, event)
        case FileRequested():
            state = changed(state, run=changed(state.run, messages=seen(state.run.messages)))
            return evolve_steps.requested(_common(state, event), event.node)
        case FileReplied():
            return evolve_steps.replied(_common(state, event), event)
        case ReplanRequested():
            state = changed(state, run=changed(state.run, messages=seen(state.run.messages)))
            return evolve_troubles.replan_requested(_common(state, event), event)
        case ReplanReplied():
            return evolve_troubles.replan_replied(_common(state, event), event)
        case ExecutionCallReissued() | CallFailed() | Settled():
            return _common(state, event)
        case ProofRequested() | ProofReached():
            return evolve_troubles.proof(state, event)
        case TroubleDecided():
            return evolve_troubles.decided(state, event)
        case PlanRevised():
            return evolve_troubles.revised(state, event)
        case ClarificationRequested():
            return evolve_troubles.asked(evolve_steps.asked(_common(state, event), event), event)
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationExpired() | ClarificationWithdrawn():
            return _closed(state, event)
        case WaitEnded():
            wait = state.run.waits[event.request_id]
            return evolve_steps.rested(_common(state, event), wait)
        case SettingsChanged():
            return changed(_common(state, event), config=state.config.with_settings(event))
        case RunResumed():
            undone = state.run.undone(at_once=event.at_once)
            after = _common(state, event)
            return evolve_troubles.reopened(after) if undone else after
        case RunFinished() | WaitRequested() | RunParked() | MailRefused() | NoteTold() | RequirementTold():
            return _common(state, event)
        case ExecutionStarted():
            return state
        case _:
            assert_never(event)


Common = (
    tools.ToolEvent
    | FileRequested
    | FileReplied
    | ReplanRequested
    | ReplanReplied
    | ExecutionCallReissued
    | CallFailed
    | Settled
    | ClarificationRequested
    | ClarificationAnswered
    | ClarificationDeclined
    | ClarificationExpired
    | ClarificationWithdrawn
    | WaitRequested
    | WaitEnded
    | SettingsChanged
    | RunResumed
    | RunParked
    | RunFinished
    | MailRefused
    | NoteTold
    | RequirementTold
)


def _common(state: State, event: Common) -> State:
    return changed(state, run=evolve_run(state.run, event))


def _closed(
    state: State,
    event: ClarificationAnswered | ClarificationDeclined | ClarificationExpired | ClarificationWithdrawn,
) -> State:
    """Return the state after a question was closed. An answer that comes later is kept, and changes nothing."""
    question = state.run.questions[event.question_id]
    after = _common(state, event)
    if not question.open or isinstance(event, ClarificationWithdrawn):
        return after
    return evolve_troubles.answered(evolve_steps.answered(after, question.request, event), event)


def _started(event: ExecutionStarted) -> State:
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
