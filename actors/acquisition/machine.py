"""The acquisition machine: the four functions together, and what the shell shows of a state.

Reading a run only folds it, so what decides and asks is imported when a run is driven.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from actors.acquisition.call_events import (
    DecisionRequested,
    DecompositionRequested,
    ObservationRequested,
    ReflectionRequested,
)
from actors.acquisition.events import AcquisitionEvent
from actors.acquisition.evolve import evolve
from actors.acquisition.state import AcquisitionState, State
from actors.run import questions, tools, waits
from actors.run.machine import MODEL
from actors.run.state import NotStarted
from actors.run.summary import status_row
from runtime.core.machine import Refused, Summary, Work

if TYPE_CHECKING:
    from actors.acquisition.advance import Rules, Table
    from actors.run.messages import RunMessage

_CALLS = (DecisionRequested, ObservationRequested, DecompositionRequested, ReflectionRequested)


class AcquisitionMachine:
    """`runtime.core.machine.Machine` for acquisition runs. It has no state of its own."""

    def __init__(self, table: "Table | None" = None) -> None:
        """Take the table of nodes of a profile; None for the planner's own (`actors.acquisition.table`)."""
        self._table = table

    @cached_property
    def rules(self) -> "Rules":
        """The rules over the table of nodes."""
        from actors.acquisition.advance import Rules  # noqa: PLC0415 -- as the module says
        from actors.acquisition.table import graph_for  # noqa: PLC0415

        return Rules(self._table or graph_for)

    def initial(self) -> AcquisitionState:
        """Return the state before the run starts."""
        return NotStarted()

    def accept(self, state: AcquisitionState, message: "RunMessage") -> AcquisitionEvent | Refused | None:
        """Turn a reply into a fact."""
        from actors.acquisition.accept import accept  # noqa: PLC0415 -- as the module says

        return accept(state, message)

    def advance(self, state: AcquisitionState) -> AcquisitionEvent | None:
        """Return the next decision."""
        return self.rules.advance(state)

    def evolve(self, state: AcquisitionState, event: AcquisitionEvent) -> State:
        """Return the state after the event."""
        return evolve(state, event)

    def outstanding(self, state: AcquisitionState) -> Mapping[str, Work]:
        """Return the open requests as work for the model, the search tool, the clock and the user."""
        run = state.run
        if run.finished is not None:
            return tools.work_of(run.tools, run.epoch)
        calls = {name: Work(name, MODEL, run.calls.open[name].request) for name in _carried_out(state)}
        others = waits.work_of(run.waits) | questions.work_of(run.questions)
        return calls | tools.work_of(run.tools, run.epoch) | others

    def brief(self, state: AcquisitionState, work: Work) -> Any:
        """Return what the actor that does this work may see: a `ModelRequest` for a call, else the request itself."""
        if not isinstance(work.request, _CALLS):
            return work.request
        from actors.acquisition.briefs import model_request  # noqa: PLC0415 -- as the module says

        assert isinstance(state, State)
        return model_request(state, work.request)

    def summary(self, state: AcquisitionState) -> Summary:
        """Return the run's status row."""
        if isinstance(state, NotStarted):
            return Summary("running")
        return status_row(state.run, _carried_out(state), working=tools.busy(state.run.tools))


def _carried_out(state: AcquisitionState) -> list[str]:
    """Return the open calls that somebody carries out: an earlier driver's are reissued or dropped."""
    return [name for name, opened in state.run.calls.open.items() if opened.epoch == state.run.epoch]
