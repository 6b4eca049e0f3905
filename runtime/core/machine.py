"""The protocol of machines: a run is a pure, synchronous machine over one state.

A machine has no clock, randomness, I/O or trio. `accept` turns messages into events, `advance` returns the decisions
that follow, and only `evolve` changes the state. The requested work is a function of the state (`outstanding`). To
resume a run, to cancel work or to prune a branch, the supervisor compares running work with outstanding work.
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
"""The largest number of decisions that a machine may make after one message. A machine that makes more decisions has a
bug."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A message cannot be accepted now. The reason is one sentence for the sender of the message."""

    reason: str


class Work(NamedTuple):
    """A piece of work that the run has requested and that is not answered yet."""

    request_id: str
    address: str
    """The name of the mailbox that gets the work, which is also the name of its actor."""
    request: Any
    repeatable: bool = False
    """Whether the work can be done twice without cost or harm, such as a pure guard. Repeatable work is done again
    after a crash.
    """
    keeps_no_process: bool = False
    """Whether this work needs no process while the run waits for a person. An example is the wait for the run's
    deadline.
    """
    until: float | None = None
    """The time at which a wait ends (UTC seconds since 1970); None for other work."""
    leaves: bool = False
    """Whether a driver in the foreground stops driving the run when only work with this flag is open."""
    judges: bool = False
    """Whether this is the work of a guard. While a guard works, the runs that take turns wait for this run
    (`runtime.drive.options.Turns`).
    """


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a state, for the status row. Times are UTC seconds since 1970."""

    status: str
    detail: str = ""
    """The outcome, the id of the open question, or the reason for parking."""
    waiting_since: float | None = None
    """The time at which the run began to wait for a person."""
    next_wake: float | None = None
    """The time at which the run continues, if only the clock or a person can advance it."""
    committed: Amount = ZERO
    """All amounts that count against the run's limits."""
    asks: bytes = b""
    """The open questions as a JSON array of objects, in the order in which people see them; empty if no question is
    open.
    """
    near: str = ""
    """The limit of which most is used, and the percentage of it that was reached, such as `calls 80`; may be empty."""
    reserved: Amount = field(default=ZERO, compare=False)
    """The part of `committed` that is reserved for open requests. It is used for the daily budget, and is not stored.
    """
    ending: bool = field(default=False, compare=False)
    """Whether the run has an outcome and only waits for work that cannot be cancelled; not stored."""
    parked: bool = field(default=False, compare=False)
    """Whether the machine requests nothing until the next takeover. If so, the driver stops driving the run. Not
    stored.
    """

    @property
    def due(self) -> float | None:
        """The time from which the run needs a driver: 0 means now, None means never."""
        match self.status:
            case "running":
                return self.next_wake or 0.0
            case "waiting":
                return self.next_wake
            case _:
                return None


class Machine(Protocol[S, E, M]):
    """The functions of a machine. `brief` returns a part of the state for actors, and `summary` a part for people."""

    def initial(self) -> S:
        """Return the state before the first event."""

    def accept(self, state: S, message: M) -> E | Refused | None:
        """Return the event for a message, `Refused` if it cannot be accepted, or None if it is a duplicate."""

    def advance(self, state: S) -> E | None:
        """Return the next decision that follows from the state without a message; None if there is no such decision."""

    def evolve(self, state: S, event: E) -> S:
        """Return the state after the event.

        This function makes no decision, has no side effect, and never fails on an event of this machine.
        """

    def outstanding(self, state: S) -> Mapping[str, Work]:
        """Return the requested work without an answer, by request id."""

    def brief(self, state: S, work: Work) -> Any:
        """Return everything that the actor of this work may see.

        The supervisor calls this function with the state at the start of the work.
        """

    def summary(self, state: S) -> Summary:
        """Return the content of the run's status row."""


def fold(machine: Machine[S, E, Any], events: Iterable[E], state: S | None = None) -> S:
    """Apply the events to `state`, and return the new state. None means the initial state."""
    current = machine.initial() if state is None else state
    for event in events:
        current = machine.evolve(current, event)
    return current


def settle(machine: Machine[S, E, Any], state: S, first: E | None = None) -> tuple[S, list[E]]:
    """Apply `first`, then every decision that follows, until no decision follows. Return the new state and the events.

    Raises:
        MachineRunsAway: the machine made more than `SETTLE_MAX` decisions.
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
