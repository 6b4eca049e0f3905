"""`evolve`: the only writer of state. It never decides, never acts, never fails on an event that was once emitted."""

from typing import assert_never

from actors.acquisition.call_events import (
    DecisionRequested,
    DecompositionRequested,
    ObservationRequested,
    ReflectionRequested,
    ReplyReceived,
    RequestReissued,
)
from actors.acquisition.config import read_config
from actors.acquisition.events import AcquisitionEvent, AcquisitionStarted, Routed, ValueTold
from actors.acquisition.graph import END
from actors.acquisition.planner_state import Calculation, PlannerState
from actors.acquisition.search_output import passages_of
from actors.acquisition.state import AcquisitionState, ReplyText, State, Visited
from actors.acquisition.writes import Writes, apply
from actors.run import inbox, tools
from actors.run.calls import CallFailed, Settled
from actors.run.ending import RunFinished
from actors.run.evolve import TIMED, evolve_run, timed
from actors.run.ids import call_of, step_of
from actors.run.inbox import MailRefused, NoteTold, RequirementTold
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
from actors.run.tools import (
    ToolCheckRequested,
    ToolFinished,
    ToolProcessEnded,
    ToolReissued,
    ToolRequested,
    ToolStarted,
)
from actors.run.waits import WaitEnded, WaitRequested
from runtime.core.copies import changed

FIRST = "enter_iteration"
"""The node at which every run and every round begins."""


def evolve(state: AcquisitionState, event: AcquisitionEvent) -> State:
    """Return the state after the event, with the time and the active time kept."""
    if isinstance(state, NotStarted):
        assert isinstance(event, AcquisitionStarted), "a run begins with its start"
        return _started(event)
    run = state.run
    if isinstance(event, TIMED):
        run = timed(run, event, working=bool(run.calls.open or tools.busy(run.tools)))
    if isinstance(event, AcquisitionStarted):
        return state
    if isinstance(event, ValueTold):
        return _corrected(changed(state, run=run), event)
    if isinstance(event, Routed):
        return _routed(state, event)
    after = changed(state, run=evolve_run(run, event))
    match event:
        case DecisionRequested() | ObservationRequested() | DecompositionRequested() | ReflectionRequested():
            return _requested(after, event.node, event.try_number)
        case RequestReissued():
            return _requested(after, event.again.node, event.again.try_number)
        case ReplyReceived():
            return _replied(state, after, event)
        case ToolFinished():
            planner = changed(after.planner, last_observation=passages_of(event))
            return changed(after, tool=event, planner=planner)
        case ClarificationRequested():
            # What became of a tool's call is asked by the common run; the answer comes as the end of the call.
            return after if event.node.startswith("tool:") else changed(after, question=event.question_id)
        case RequirementTold():
            return _new_round(after)
        case RunResumed():
            undone = state.run.finished is not None and after.run.finished is None
            return _arrived(after, FIRST) if undone and state.node == END else after
        case SettingsChanged():
            return changed(after, config=state.config.with_settings(event))
        case (
            CallFailed()
            | Settled()
            | ToolRequested()
            | ToolStarted()
            | ToolCheckRequested()
            | ToolProcessEnded()
            | ToolReissued()
            | ClarificationAnswered()
            | ClarificationDeclined()
            | ClarificationWithdrawn()
            | ClarificationExpired()
            | NoteTold()
            | MailRefused()
            | WaitRequested()
            | WaitEnded()
            | RunParked()
            | RunFinished()
        ):
            return after
        case _:
            assert_never(event)


def _corrected(state: State, event: ValueTold) -> State:
    """Return the state after a value was told: what was calculated and concluded without it counts no more.

    Searches and questions stand: nobody is asked again for what the run knows.
    """
    planner = apply(state.planner, Writes(values={event.path: (event.value,)}))
    planner = changed(planner, iterations=0, status="active", calculation=Calculation(), reflections=())
    run = changed(state.run, reopening=state.run.reopening or state.run.finished is not None)
    return changed(state, planner=planner, run=run)


def _started(event: AcquisitionStarted) -> State:
    state = State(
        run=RunState.begun(event),
        config=read_config(event.pinned),
        goal=event.goal,
        source=event.source,
        planner=PlannerState(values={path: (value,) for path, value in event.given.items()}),
    )
    return _arrived(state, FIRST)


def _arrived(state: State, node: str) -> State:
    """Return the state at a node that the run has come to."""
    visits = {**state.visits, node: state.visits.get(node, 0) + 1}
    question = "" if node == "ask_user" else state.question
    return changed(state, node=node, visits=visits, replies=(), tool=None, question=question)


def _routed(state: State, event: Routed) -> State:
    path = (*state.path, Visited(event.node, event.outcome, event.to, event.reason))
    after = changed(state, path=path, planner=apply(state.planner, event.writes))
    return _arrived(after, event.to)


def _requested(state: State, node: str, try_number: int) -> State:
    """Return the state after a call was asked for: its prompt has shown the user's messages."""
    seen = changed(state.run, messages=inbox.seen(state.run.messages))
    if try_number > 1 or not node.endswith(".a1"):
        return changed(state, run=seen)
    purpose = step_of(node)
    return changed(state, run=seen, calls={**state.calls, purpose: state.calls.get(purpose, 0) + 1})


def _replied(state: State, after: State, event: ReplyReceived) -> State:
    request = state.run.calls.open[event.request_id].request
    path = request.path if isinstance(request, ObservationRequested | DecompositionRequested) else ""
    reply = ReplyText(call_of(event.request_id), path, event.content, event.ended_early)
    return changed(after, replies=(*state.replies, reply))


def _new_round(state: State) -> State:
    """Return the state after a requirement: the values stay, and all attempts are given back."""
    planner = changed(
        state.planner,
        iterations=0,
        status="active",
        searches=(),
        asked=(),
        refused=(),
        calculation=Calculation(),
        reflections=(),
    )
    return changed(state, planner=planner, round=state.round + 1)
