"""The protocol of machines: a run is a pure, synchronous machine over one state.

A machine has no clock, no randomness, no I/O and no trio. `accept` turns messages into events, `advance` returns the
decisions that follow, and only `evolve` changes the state. The work that it asks for is a projection of its state
(`outstanding`), so resuming, cancelling and pruning are one operation: running work is compared with outstanding work.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from runtime.core.errors import MachineRunsAway
from runtime.core.ledger import ZERO, Amount

S = TypeVar("S")
E = TypeVar("E")
M = TypeVar("M", contravariant=True)

SETTLE_MAX = 10_000
"""The largest number of decisions that may follow from one message; a machine that makes more has a bug."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that is not acceptable now; the reason is one sentence for its sender."""

    reason: str


class Work(NamedTuple):
    """A piece of work that a state has outstanding."""

    request_id: str
    """Its id within the run."""
    address: str
    """The name of the mailbox that takes it, and so of the actor that does it."""
    request: Any
    """The event that asked for it."""
    repeatable: bool = False
    """Whether doing it twice costs nothing and harms nothing (a pure guard), so that a crashed actor may repeat it."""
    keeps_no_process: bool = False
    """Whether it needs no process while the run waits for a person. The wait for the deadline is such work."""
    until: float | None = None
    """The time at which a wait ends (UTC seconds since 1970); None for other work."""
    leaves: bool = False
    """Whether a driver in the foreground leaves the run instead of waiting for this work alone."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The status row's summary of a state. Times are UTC seconds since 1970."""

    status: str
    """`running`, `waiting` (for a person), `parked` or `finished`."""
    detail: str = ""
    """The outcome, the id of the open question, or the reason of parking."""
    waiting_since: float | None = None
    """The time since which it waits for a person."""
    next_wake: float | None = None
    """The time at which it continues, if only the clock or a person can advance it."""
    committed: Amount = ZERO
    """Everything that counts against the run's limits."""
    asks: bytes = b""
    """The open questions as a JSON array of objects, in the order in which they are listed; empty for none."""
    reserved: Amount = field(default=ZERO, compare=False)
    """The part of `committed` that open requests may still return; used for the daily budget, not stored."""
    ending: bool = field(default=False, compare=False)
    """Whether the run has an outcome and waits only for work that cannot be cancelled; not stored."""
    parked: bool = field(default=False, compare=False)
    """Whether the machine requests nothing until the next takeover, so that its driver leaves; not stored."""

    @property
    def due(self) -> float | None:
        """The time at which an undriven run is due: 0 is at once, None is never."""
        match self.status:
            case "running":
                return self.next_wake or 0.0
            case "waiting":
                return self.next_wake
            case _:
                return None


class Machine(Protocol[S, E, M]):
    """The functions of a machine over its state; `brief` and `summary` are projections for actors and for people."""

    def initial(self) -> S:
        """Return the state before the first event."""

    def accept(self, state: S, message: M) -> E | Refused | None:
        """Return the event for a message; `Refused` for one that is not acceptable, None for a duplicate."""

    def advance(self, state: S) -> E | None:
        """Return the next decision that follows from the state without a message, or None if there is none."""

    def evolve(self, state: S, event: E) -> S:
        """Return the state after the event. Never decides, never acts, never fails on an event of its own."""

    def outstanding(self, state: S) -> Mapping[str, Work]:
        """Return the work asked for and not yet answered, by request id."""

    def brief(self, state: S, work: Work) -> Any:
        """Return all that the actor that does this work may see: a pure projection, made when the work starts."""

    def summary(self, state: S) -> Summary:
        """Return the content of the run's status row."""


def fold(machine: Machine[S, E, Any], events: Iterable[E], state: S | None = None) -> S:
    """Return the state after the events, from the initial state or the one given."""
    current = machine.initial() if state is None else state
    for event in events:
        current = machine.evolve(current, event)
    return current


def settle(machine: Machine[S, E, Any], state: S, first: E | None = None) -> tuple[S, list[E]]:
    """Apply `first`, then every decision that follows, until none does. Return the new state and the events.

    Raises:
        MachineRunsAway: after `SETTLE_MAX` decisions.
    """
    events: list[E] = []
    event = first if first is not None else machine.advance(state)
    while event is not None:
        if len(events) >= SETTLE_MAX:
            raise MachineRunsAway(SETTLE_MAX)
        state = machine.evolve(state, event)
        events.append(event)
        event = machine.advance(state)
    return state, events
