"""The one mechanism: a run is a pure, synchronous machine over one state.

A machine has no clock, no randomness, no I/O and no trio in it. It is told what happened (`accept`), says what follows
(`advance`), and what it says becomes true in one place only (`evolve`). What it wants from the world is a projection
of its state (`outstanding`), so resuming, cancelling and pruning are all the same comparison of two sets.
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
"""Decisions that may follow from one message before the machine is taken to be looping, which is a bug."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that is not acceptable now; the reason is one sentence for whoever sent it."""

    reason: str


class Work(NamedTuple):
    """A piece of work that a state has outstanding."""

    request_id: str
    """Its name within the run."""
    address: str
    """The mailbox that takes it."""
    request: Any
    """The event that asked for it."""
    repeatable: bool = False
    """Whether doing it twice costs nothing and harms nothing (a pure guard), so that a crashed actor may repeat it."""
    keeps_no_process: bool = False
    """Whether it only waits for a time while the run waits for a person (a deadline): no reason to keep a process."""
    until: float | None = None
    """The time that it waits for, where it does nothing else (UTC seconds since 1970)."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run's status row shows: `running`, `waiting` or `finished`, plus where a person or a clock comes in.

    Times are UTC seconds since 1970; `detail` is the outcome, or the open question's id; `next_wake` is when a clock
    brings the run on, where nothing else will before a person does; `committed` is all that counts against its limits.
    `reserved` is the part of it that open requests may still give back: for whoever writes the row, not part of it.
    """

    status: str
    detail: str = ""
    waiting_since: float | None = None
    next_wake: float | None = None
    committed: Amount = ZERO
    reserved: Amount = field(default=ZERO, compare=False)

    @property
    def due(self) -> float | None:
        """When the run goes on by itself once nobody drives it: 0 is at once, None is never."""
        match self.status:
            case "running":
                return self.next_wake or 0.0
            case "waiting":
                return self.next_wake
            case _:
                return None


class Machine(Protocol[S, E, M]):
    """Four functions over one state, and the projections that the shell shows to actors and people."""

    def initial(self) -> S:
        """Return the state before the first event."""
        ...

    def accept(self, state: S, message: M) -> E | Refused | None:
        """Turn a message from the world into a fact; `Refused` when unacceptable, None for a duplicate."""
        ...

    def advance(self, state: S) -> E | None:
        """Return the next decision that follows from the state alone, or None when nothing does."""
        ...

    def evolve(self, state: S, event: E) -> S:
        """Return the state after the event. Never decides, never acts, never fails on an event it once emitted."""
        ...

    def outstanding(self, state: S) -> Mapping[str, Work]:
        """Return the work asked for and not yet answered, by request id."""
        ...

    def brief(self, state: S, work: Work) -> Any:
        """Return all that the actor doing this work may see: a pure projection, made when the work is handed out."""
        ...

    def summary(self, state: S) -> Summary:
        """Return the row that lists of runs show."""
        ...


def fold(machine: Machine[S, E, Any], events: Iterable[E], state: S | None = None) -> S:
    """Return the state after the events, from the initial state or the one given."""
    current = machine.initial() if state is None else state
    for event in events:
        current = machine.evolve(current, event)
    return current


def settle(machine: Machine[S, E, Any], state: S, first: E | None = None) -> tuple[S, list[E]]:
    """Apply `first`, then every decision that follows, until the machine is quiet.

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
