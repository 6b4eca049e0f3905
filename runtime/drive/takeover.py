"""The facts with which a driver takes a run over: that it has the run, and what was posted that comes first. Pure."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from runtime.core.machine import Machine, Refused, settle
from runtime.core.messages import Mailed, Resumed


class Takeover(NamedTuple):
    """The first facts of a driver."""

    facts: list[tuple[Any, int | None]]
    """The events, each with the posted message that it consumes, if any; all are applied before anything is decided."""
    taken: list[Mailed]
    """The posted messages that they are made of."""
    left: list[Mailed]
    """The posted messages that are taken afterwards, one after the other."""


class End(NamedTuple):
    """How a posted message ends a run."""

    state: Any
    """The state after it."""
    events: list[Any]
    """The event of the message, and the decisions that follow from it."""
    inbox: int
    """The message."""


def end_by_message(machine: Machine[Any, Any, Any], state: Any, posted: Sequence[Mailed]) -> End | None:
    """Return how the first of the messages that ends a run in a state does it; None where there is none."""
    for message in posted:
        accepted = machine.accept(state, message)
        if accepted is None or isinstance(accepted, Refused):
            continue
        after, events = settle(machine, state, accepted)
        summary = machine.summary(after)
        if summary.ending or summary.status == "finished":
            return End(after, events, message.inbox)
    return None


def takeover(
    machine: Machine[Any, Any, Any], state: Any, resumed: Resumed, posted: Sequence[Mailed], *, finished: bool
) -> Takeover:
    """Return the facts with which a driver begins that has claimed a run in a state.

    Messages whose event has `precedes_takeover` (`runtime.core.events.Event`) come before the takeover: decisions must
    not be made without them. The others that were posted before them follow it, so that no time before it counts as
    work. Of a `finished` run all come first, since they may be why its end is undone.
    """
    events = [machine.accept(state, message) for message in posted]
    urgent = [place for place, event in enumerate(events) if finished or getattr(event, "precedes_takeover", False)]
    taken = list(posted[: urgent[-1] + 1]) if urgent else []
    before = [message for place, message in enumerate(taken) if place in urgent]
    after = [message for place, message in enumerate(taken) if place not in urgent]
    facts = list[tuple[Any, int | None]]()
    for message in (*before, resumed, *after):
        accepted = machine.accept(state, message)
        if accepted is None or isinstance(accepted, Refused):
            continue
        state = machine.evolve(state, accepted)
        facts.append((accepted, message.inbox if isinstance(message, Mailed) else None))
    return Takeover(facts, taken, list(posted[len(taken) :]))
