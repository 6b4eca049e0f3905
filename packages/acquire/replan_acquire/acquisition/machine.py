"""The machine of acquisition runs: it says how the events of this kind change the state. Pure.

Applying an event makes no decision, has no side effect, and never fails on a recorded event. To read a run, it is
enough to apply its events. So the modules that make decisions and requests are imported only when a run is driven.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from actors.run.calls import ReplyFields
from actors.run.ids import call_of, step_of
from actors.run.inbox import RequirementTold
from actors.run.machine import CallPrompt, RunMachine
from actors.run.parking import RunResumed
from actors.run.questions import ClarificationRequested
from actors.run.rules import Rule
from actors.run.state import RunState
from actors.run.tools import ToolFinished
from replan_acquire.acquisition.events import (
    AcquisitionCall,
    AcquisitionEvent,
    AcquisitionStarted,
    DecisionRequested,
    DecompositionRequested,
    ObservationRequested,
    ReflectionRequested,
    ReplyReceived,
    RequestReissued,
    Routed,
    ValueTold,
)
from replan_acquire.acquisition.graph import END
from replan_acquire.acquisition.planner_state import LatestCalculation, PlannerState, Writes, apply, passages_of
from replan_acquire.acquisition.state import ReplyText, State, Visited, read_config
from runtime.core.copies import changed
from runtime.core.messages import Mailed

if TYPE_CHECKING:
    from replan_acquire.acquisition.rules import Table


FIRST = "enter_iteration"


def _correct_value(state: State, event: ValueTold) -> State:
    """Return the state after a correction.

    The calculation and the reviews are removed, because they were made without the new value. The round's searches and
    questions are kept, so that no question is asked again.
    """
    planner = apply(state.planner, Writes(values={event.path: (event.value,)}))
    planner = changed(planner, iterations=0, status="active", calculation=LatestCalculation(), reflections=())
    run = changed(state.run, reopening=state.run.reopening or state.run.finished is not None)
    corrected = changed(state, planner=planner, run=run)
    # Only in a fork can a correction arrive between the last node and the end of the run.
    return _enter_node(corrected, FIRST) if state.node == END and state.run.finished is None else corrected


def _enter_node(state: State, node: str) -> State:
    visits = {**state.visits, node: state.visits.get(node, 0) + 1}
    question = "" if node == "ask_user" else state.question
    return changed(state, node=node, visits=visits, replies=(), tool=None, question=question)


def _apply_routing(state: State, event: Routed) -> State:
    path = (*state.path, Visited(event.node, event.outcome, event.to, event.reason))
    after = changed(state, path=path, planner=apply(state.planner, event.writes))
    return _enter_node(after, event.to)


def _record_request(state: State, node: str, try_number: int) -> State:
    """Return the state after a request to a model.

    In the count of calls by purpose, only the first try of the first attempt counts.
    """
    if try_number > 1 or not node.endswith(".a1"):
        return state
    purpose = step_of(node)
    return changed(state, calls={**state.calls, purpose: state.calls.get(purpose, 0) + 1})


def _record_reply(state: State, after: State, event: ReplyReceived) -> State:
    request = state.run.calls.open[event.request_id].request
    path = request.path if isinstance(request, ObservationRequested | DecompositionRequested) else ""
    reply = ReplyText(call_of(event.request_id), path, event.content, event.ended_early)
    return changed(after, replies=(*state.replies, reply))


def _new_round(state: State) -> State:
    """Return the state after a new requirement, which begins a round.

    The values are kept, and all attempts are allowed again.
    """
    planner = changed(
        state.planner,
        iterations=0,
        status="active",
        searches=(),
        asked=(),
        refused=(),
        calculation=LatestCalculation(),
        reflections=(),
    )
    return changed(state, planner=planner, round=state.round + 1)


class AcquisitionMachine(RunMachine[State, AcquisitionEvent]):
    """The machine of acquisition runs."""

    reissued = RequestReissued

    def __init__(self, table: "Table | None" = None) -> None:
        """Store a table of nodes; None stands for `replan_acquire.acquisition.table.graph_for`."""
        self._nodes = table

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules by which `advance` decides, for this machine's table of nodes."""
        from replan_acquire.acquisition.rules import rules_over  # noqa: PLC0415 -- only a driver needs it
        from replan_acquire.acquisition.table import graph_for  # noqa: PLC0415

        return rules_over(self._nodes or graph_for, self.reissue)

    def begin(self, event: AcquisitionStarted) -> State:
        """Return the state after the first event."""
        state = State(
            run=RunState.begin(event),
            config=read_config(event.pinned),
            goal=event.goal,
            source=event.source,
            planner=PlannerState(values={path: (value,) for path, value in event.given.items()}),
        )
        return _enter_node(state, FIRST)

    def apply(self, state: State, run: RunState[AcquisitionCall], event: AcquisitionEvent) -> State:
        """Return the state after an event."""
        match event:
            case AcquisitionStarted():
                return state
            case ValueTold():
                return _correct_value(changed(state, run=run), event)
            case Routed():
                return _apply_routing(state, event)
            case DecisionRequested() | ObservationRequested() | DecompositionRequested() | ReflectionRequested():
                return _record_request(changed(state, run=run), event.node, event.try_number)
            case ReplyReceived():
                return _record_reply(state, changed(state, run=run), event)
            case ToolFinished():
                planner = changed(state.planner, last_observation=passages_of(event))
                return changed(state, run=run, tool=event, planner=planner)
            case ClarificationRequested() if not event.node.startswith("tool:"):
                # The common part of all kinds handles questions about the outcome of a tool's call.
                return changed(state, run=run, question=event.question_id)
            case RequirementTold():
                return _new_round(changed(state, run=run))
            case RunResumed() if state.run.finished is not None and run.finished is None and state.node == END:
                return _enter_node(changed(state, run=run), FIRST)
            case _:
                return self.common(state, run, event)

    def next_try(self, state: State, request: AcquisitionCall) -> AcquisitionCall:
        """Return the request for the next try of a call."""
        from replan_acquire.acquisition.rules import next_try  # noqa: PLC0415 -- only a driver needs it

        return next_try(state, request)

    def prompt(self, state: State, request: AcquisitionCall) -> CallPrompt:
        """Return the prompt of a call."""
        from replan_acquire.acquisition.rules import make_call_prompt, subject_of  # noqa: PLC0415 -- only a driver needs it

        return make_call_prompt(state, request.step, subject_of(request))

    def reply_event(self, state: State, request: AcquisitionCall, fields: ReplyFields) -> ReplyReceived:
        """Return the event for a model's reply."""
        del state, request
        return ReplyReceived(**fields)

    def message_event(self, state: State, message: Mailed) -> AcquisitionEvent | None:
        """Return the event for a correction; None if the message is not a correction."""
        from replan_acquire.acquisition.answers import accept_correction  # noqa: PLC0415 -- only a driver needs it

        return accept_correction(state, message)
