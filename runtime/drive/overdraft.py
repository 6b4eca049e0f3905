"""The longest prefix of a batch of events that the daily budget allows, and the pause where it allows none. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from runtime.core.errors import HomeBudgetSpent
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Machine, Refused, settle
from runtime.core.messages import Overdrawn

S = TypeVar("S")
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Prefix(Generic[S, E]):
    """The first events of a batch, at least one."""

    state: S
    """The state after these events."""
    events: Sequence[E]
    """The events, in their order in the batch."""
    next_reservation: Amount
    """The reservation of the event that follows; zero where none follows."""


def prefixes(machine: Machine[S, E, Any], state: S, events: Sequence[E]) -> list[Prefix[S, E]]:
    """Return the prefixes of a batch without its last reservation, without its last two, and so on, down to none.

    The first event is a fact and is part of every prefix. Each prefix is a batch that the machine could have made: it
    decides again about the events that are left out when the next message arrives.
    """
    shorter: list[Prefix[S, E]] = []
    state = machine.evolve(state, events[0])
    for place, event in enumerate(events[1:], 1):
        after = machine.evolve(state, event)
        added = machine.summary(after).committed - machine.summary(state).committed
        if added.calls > 0 or added.micro_usd > 0:
            shorter.append(Prefix(state, events[:place], added))
        state = after
    return shorter[::-1] or [Prefix(state, events, ZERO)]


@dataclass(frozen=True, slots=True)
class Pause(Generic[S, E]):
    """A prefix that reserves nothing, and the events by which the machine stops asking for work."""

    state: S
    """The state after these events."""
    events: Sequence[E]
    """The events of the prefix, then those of the pause."""
    notice: str
    """One line for whoever watches the run."""
    for_good: bool
    """Whether the next request exceeds the budget of any day, so that waiting does not help."""


def pause(machine: Machine[S, E, Any], free: Prefix[S, E], spent: HomeBudgetSpent, now: float) -> Pause[S, E]:
    """Return how the machine pauses once it is told that the budget is spent. Raises `spent` if it cannot pause."""
    never = spent.budget.outsized(free.next_reservation)
    why = never or spent.why
    accepted = machine.accept(free.state, Overdrawn(now, spent.until, why, never=bool(never)))
    if accepted is None or isinstance(accepted, Refused):
        raise spent
    state, events = settle(machine, free.state, accepted)
    then = "ends" if spent.until is None else "is parked" if never else "waits for the next day"
    return Pause(state, [*free.events, *events], f"{why}; the run {then}", bool(never))
