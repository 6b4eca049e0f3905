"""The planning machine: the four functions together, and what the shell shows of a state.

Reading a run only folds it, so what decides and asks is imported when a run is driven.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from actors.planning.call_events import GenerationRequested, PlanningCall
from actors.planning.events import PlanningEvent
from actors.planning.evolve import evolve
from actors.planning.planning_questions import question_of
from actors.planning.state import PlanningOpenCall, PlanningState, State
from actors.policy.cause import CLASSIFIER
from actors.run import questions, waits
from actors.run.state import NotStarted
from actors.run.summary import status_row
from runtime.core.machine import Refused, Summary, Work

if TYPE_CHECKING:
    from actors.planning.briefs import Brief
    from actors.run.messages import RunMessage

_NOT_STARTED = NotStarted()


class PlanningMachine:
    """`runtime.core.machine.Machine` for planning runs. It has no state of its own."""

    def initial(self) -> PlanningState:
        """Return the state before the run starts."""
        return _NOT_STARTED

    def accept(self, state: PlanningState, message: "RunMessage") -> PlanningEvent | Refused | None:
        """Turn a reply into a fact."""
        from actors.planning.accept import accept  # noqa: PLC0415 -- as the module says

        return accept(state, message)

    def advance(self, state: PlanningState) -> PlanningEvent | None:
        """Return the next decision."""
        from actors.planning.advance import advance  # noqa: PLC0415 -- as the module says

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

    def brief(self, state: PlanningState, work: Work) -> "Brief":
        """Return what the actor that does this work may see."""
        from actors.planning.briefs import brief_for  # noqa: PLC0415 -- as the module says

        return brief_for(state, work)

    def summary(self, state: PlanningState) -> Summary:
        """Return the run's status row."""
        if isinstance(state, NotStarted):
            return Summary("running")
        held = state.run.held
        calls = [
            name for name, opened in state.run.calls.open.items() if _carried_out(state, opened) and name not in held
        ]
        shown = partial(question_of, state)
        return status_row(state.run, calls, working=bool(state.judgements), shown=shown)


def _carried_out(state: State, opened: PlanningOpenCall) -> bool:
    """Tell whether anybody does what a request asks for.

    An earlier driver's request is reissued or dropped, never carried out: it may lie there until the home's budget
    allows it to be asked again. A run of its own goes on.
    """
    return opened.epoch == state.run.epoch or state.is_child(opened.request)


def _address(request: PlanningCall) -> str:
    return f"step:{request.step}" if isinstance(request, GenerationRequested) else CLASSIFIER
