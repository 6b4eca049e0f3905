"""What is written of a batch of events where the home's budget for the day does not allow the whole of it. Pure."""

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
class Part(Generic[S, E]):
    """The beginning of a batch of events, the state after it, and what the event that follows would reserve."""

    state: S
    events: Sequence[E]
    following: Amount


def parts(machine: Machine[S, E, Any], state: S, events: Sequence[E]) -> list[Part[S, E]]:
    """Return the batch's beginnings that leave out its last reservation, its last two, and so on, down to none.

    The first event is a fact, whatever it books, and stands in all of them. Each is a batch that the machine could have
    made: what it would do next, it does when it next hears a message.
    """
    found, state = [], machine.evolve(state, events[0])
    for place, event in enumerate(events[1:], 1):
        after = machine.evolve(state, event)
        added = machine.summary(after).committed - machine.summary(state).committed
        if added.calls > 0 or added.micro_usd > 0:
            found.append(Part(state, events[:place], added))
        state = after
    return found[::-1] or [Part(state, events, ZERO)]


@dataclass(frozen=True, slots=True)
class Saving(Generic[S, E]):
    """A part with nothing reserved, and that no more is asked for: until the next day, or (`for_good`) ever."""

    state: S
    events: Sequence[E]
    notice: str
    for_good: bool


def saving(machine: Machine[S, E, Any], free: Part[S, E], spent: HomeBudgetSpent, now: float) -> Saving[S, E]:
    """Return what a machine does that is told to save. Raises the error where it does not know how to."""
    never = spent.budget.outsized(free.following)
    why = never or spent.why
    accepted = machine.accept(free.state, Overdrawn(now, spent.until, why, never=bool(never)))
    if accepted is None or isinstance(accepted, Refused):
        raise spent
    state, events = settle(machine, free.state, accepted)
    then = "ends" if spent.until is None else "is parked" if never else "waits for the next day"
    return Saving(state, [*free.events, *events], f"{why}; the run {then}", bool(never))
