"""The machine of acquisition runs: what such a run does otherwise than runs of other kinds. Pure.

Reading a run only folds it, so what decides and asks is imported when a run is driven.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from actors.acquisition.events import (
    AcquisitionCall,
    AcquisitionEvent,
    AcquisitionStarted,
    ReplyReceived,
    RequestReissued,
)
from actors.acquisition.evolve import apply_event, start_state
from actors.acquisition.state import State
from actors.run.calls import ReplyFields
from actors.run.machine import CallPrompt, RunMachine
from actors.run.rules import Rule
from actors.run.state import RunState
from runtime.core.messages import Mailed

if TYPE_CHECKING:
    from actors.acquisition.rules import Table


class AcquisitionMachine(RunMachine[State, AcquisitionEvent]):
    """The machine of acquisition runs."""

    reissued = RequestReissued

    def __init__(self, table: "Table | None" = None) -> None:
        """Take the table of nodes of a profile; None for the planner's own (`actors.acquisition.table`)."""
        self._nodes = table

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """What may follow from a state, over the table of nodes."""
        from actors.acquisition.rules import rules_over  # noqa: PLC0415 -- only a driver needs it
        from actors.acquisition.table import graph_for  # noqa: PLC0415

        return rules_over(self._nodes or graph_for, self.reissue)

    def begin(self, event: AcquisitionStarted) -> State:
        """Return the state after the first event."""
        return start_state(event)

    def apply(self, state: State, run: RunState[AcquisitionCall], event: AcquisitionEvent) -> State:
        """Return the state after an event."""
        return apply_event(self.common, state, run, event)

    def next_try(self, state: State, request: AcquisitionCall) -> AcquisitionCall:
        """Return the request for the next try of a call."""
        from actors.acquisition.rules import next_try  # noqa: PLC0415 -- only a driver needs it

        return next_try(state, request)

    def prompt(self, state: State, request: AcquisitionCall) -> CallPrompt:
        """Return what a call sends to the model."""
        from actors.acquisition.rules import prompt_of, subject_of  # noqa: PLC0415 -- only a driver needs it

        return prompt_of(state, request.step, subject_of(request))

    def replied(self, state: State, request: AcquisitionCall, fields: ReplyFields) -> ReplyReceived:
        """Return the event of a reply, which the node that asked reads."""
        del state, request
        return ReplyReceived(**fields)

    def told(self, state: State, message: Mailed) -> AcquisitionEvent | None:
        """Return the event of a value that a person tells of their own accord."""
        from actors.acquisition.answers import accept_correction  # noqa: PLC0415 -- only a driver needs it

        return accept_correction(state, message)
