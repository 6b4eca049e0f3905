"""Holds a run that was read from its journal. Also computes the state of a new run after its first message."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from actors.run.calls import Replied
from actors.run.kind import Kind
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.machine import Refused

if TYPE_CHECKING:
    from runtime.drive.run_log import Snapshot
    from runtime.journal.port import InboxItem

AnyKind = Kind[Any, Any]
"""A kind of runs, whatever the types of its states and events are."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A run that was read from its journal."""

    kind: AnyKind
    state: Any
    records: list[Record[Any]]

    @property
    def started(self) -> bool:
        """Whether the run has begun."""
        return self.kind.run_state(self.state) is not None

    @property
    def finished(self) -> bool:
        """Whether the run has ended and no tool call is open."""
        common = self.kind.run_state(self.state)
        return common is not None and common.over

    @property
    def states(self) -> Sequence[Any]:
        """The state after each record."""
        machine, state = self.kind.machine, self.kind.machine.initial()
        return [state := machine.evolve(state, record.event) for record in self.records]

    @property
    def snapshot(self) -> "Snapshot[Any]":
        """The snapshot of the state after these records.

        A driver continues from it without reading the records again.
        """
        from runtime.drive.run_log import Snapshot  # noqa: PLC0415 -- only a driver needs it

        return Snapshot(self.state, self.seq, self.inbox)

    @property
    def seq(self) -> int:
        """The number of the last record; 0 if there is none."""
        return self.records[-1].seq if self.records else 0

    @property
    def inbox(self) -> int:
        """The id of the last message that the run has read from its inbox; 0 if there is none."""
        return max((record.inbox or 0 for record in self.records), default=0)

    def after(self, messages: "Sequence[InboxItem]") -> Any:
        """Return the state after the run has accepted `messages` from its inbox.

        The run decides nothing about them yet.
        """
        machine, state = self.kind.machine, self.state
        if not messages or not self.started:
            return state
        from runtime.core.messages import Mailed  # noqa: PLC0415 -- mostly none is unread

        for item in messages:
            event = machine.accept(state, Mailed(item.inbox, item.key, item.body, item.at))
            state = state if event is None or isinstance(event, Refused) else machine.evolve(state, event)
        return state

    @property
    def replies(self) -> Counter[str]:
        """The number of replies so far, by purpose. From these numbers, a scripted model finds its next reply."""
        return Counter(self.kind.purpose(record.event) for record in self.records if isinstance(record.event, Replied))


def start_state(kind: AnyKind, first: Any) -> Any:
    """Return the state after the message that starts a run. Raises `UsageProblem` if the kind does not accept it."""
    initial = kind.machine.initial()
    event = kind.machine.accept(initial, first)
    if event is None or isinstance(event, Refused):
        reason = event.reason if isinstance(event, Refused) else "this message cannot start a run"
        raise UsageProblem(reason, place=f"kind {kind.name}")
    return kind.machine.evolve(initial, event)
