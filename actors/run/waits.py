"""Waits for a time: their events, which are open, and the wait for the run's deadline. Pure.

A wait is for the next try of a call, for a retry that is delayed, for a question's expiry, for the deadline, or for the
next day of the daily budget.
"""

from collections.abc import Collection, Mapping
from typing import Literal

from actors.run.clock import TimedEvent
from actors.run.ending import RunFinished, exhausted
from actors.run.ids import call_of
from runtime.core.copies import without
from runtime.core.events import Event, Seconds
from runtime.core.ledger import Limit
from runtime.core.machine import Work
from runtime.core.messages import Woken

CLOCK = "clock"
"""The address of the actor that waits."""
DEADLINE = "deadline"
"""The request id of the wait that ends a run at its deadline."""
HOME_BUDGET = "home_budget"
"""The request id of the wait for the next day of the daily budget."""


class WaitRequested(Event):
    """The run waits for a time."""

    kind: Literal["wait_requested"] = "wait_requested"
    request_id: str
    """The delayed call or node, after a prefix and a colon; or the name of a wait of the run's own."""
    until: Seconds
    """The end of the wait, in UTC seconds since 1970."""
    why: str
    """The awaited event, in a few words."""
    node: str | None = None
    """The work that follows a back-off; None for a wait of the run's own, which keeps no process."""

    @property
    def call(self) -> str:
        """The delayed call, whose next try waits, or the node whose step is to be retried."""
        return call_of(self.request_id.partition(":")[2])


class WaitEnded(TimedEvent):
    """The time that a wait was for has come."""

    kind: Literal["wait_ended"] = "wait_ended"
    request_id: str
    """The request id of the wait."""


Waits = Mapping[str, WaitRequested]
"""The open waits by request id."""


def begun(waits: Waits, event: WaitRequested) -> Waits:
    """Return the waits with one more."""
    return {**waits, event.request_id: event}


def ended(waits: Waits, request_id: str) -> Waits:
    """Return the waits without one, if it is there."""
    return without(waits, (request_id,)) if request_id in waits else waits


def withdrawn(waits: Waits, nodes: Collection[str]) -> Waits:
    """Return the waits without those before further work on some nodes."""
    return {name: wait for name, wait in waits.items() if wait.node not in nodes} if waits else waits


def woken(waits: Waits, message: Woken) -> WaitEnded | None:
    """Return the fact that a wait is over; None for one that nobody waits for any more."""
    return WaitEnded(request_id=message.request_id, at=message.at) if message.request_id in waits else None


def keep_deadline(waits: Waits, deadline: float, now: float) -> WaitRequested | RunFinished | None:
    """End the run at its deadline, and have the clock wait for it until then."""
    if now >= deadline:  # Also while the wait is open: a driver may come back long after it.
        return exhausted(Limit.DEADLINE)
    if DEADLINE in waits:
        return None
    return WaitRequested(request_id=DEADLINE, until=deadline, why="the run's deadline")


def work_of(waits: Waits) -> dict[str, Work]:
    """Return the open waits as work for the clock."""
    # Nobody keeps a process for a deadline, an expiry or the next day: whoever comes later finds them passed.
    return {
        name: Work(name, CLOCK, wait, repeatable=True, keeps_no_process=wait.node is None, until=wait.until)
        for name, wait in waits.items()
    }


def next_wake(waits: Waits) -> float | None:
    """Return when the first of the waits is over."""
    return min([wait.until for wait in waits.values()]) if waits else None
