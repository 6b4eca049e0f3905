"""The values that a run is driven with: its options, its stop, and how a driver hears of messages."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import trio

from runtime.journal.kinds import FIRST_FORMAT, FIRST_KIND, Formats
from runtime.journal.port import ORDINARY, Dead, Journal, Placement, nobody

TERMINATED_SECONDS = 30.0
"""How long a process that is told to end (SIGTERM) waits for replies in flight."""


class Ending(StrEnum):
    """How driving a run came to an end."""

    FINISHED = "finished"
    WAITING = "waiting"  # for a person, or, where a host wakes the run, for a time
    PARKED = "parked"  # stopped on request


@dataclass(frozen=True, slots=True)
class Admission:
    """What a new run is admitted with, in the transaction that writes its first records."""

    title: str
    """The title of the run in lists."""
    kind: str = FIRST_KIND
    """The name of its kind."""
    format: int = FIRST_FORMAT
    """The version of the kind's format that its events are written in."""
    placement: Placement = ORDINARY
    """Whom it is accounted to, and its priority."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How a driver holds a run."""

    owner: str
    """The name of the driver's process."""
    ttl: float = 30.0
    """The length of a lease in seconds; it is renewed after each quarter of it."""
    poll: float = 0.25
    """The seconds between two checks of the inbox, where no host wakes the driver."""
    dead: Dead = nobody
    """Tells whether another owner is certainly gone, so that nobody waits for the lease of a killed process."""
    kinds: Formats | None = None
    """The kinds of runs, and their formats, that the driver can drive; None for any."""


@dataclass
class Stop:
    """A request to stop, set from outside."""

    handover: bool = False
    """Whether the next driver goes on with the run without being asked to by a person."""
    requested: trio.Event = field(default_factory=trio.Event)
    """Set: start nothing new, wait for replies in flight, and park the run."""
    forced: trio.Event = field(default_factory=trio.Event)
    """Set: do not wait for replies in flight either."""
    grace: float | None = None
    """The seconds to wait for replies in flight; None is as long as their own time limits allow."""


ChangeSignal = Callable[[], Awaitable[None]]
"""Returns when the inbox may have changed since the last call."""


class Polling:
    """Asks the journal at an interval whether anything was committed. For a driver without others in its process."""

    def __init__(self, journal: Journal[Any], seconds: float) -> None:
        self._journal, self._seconds, self._version = journal, seconds, -1

    async def __call__(self) -> None:
        """Return once the journal has changed since the last call."""
        while True:
            await trio.sleep(self._seconds)
            version = await self._journal.version()
            if version != self._version:
                self._version = version
                return


class WakeSignal:
    """Set by a host for one of its runs, so that a thousand runs need not poll."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def wake(self) -> None:
        """End the current wait, or the next one."""
        self._event.set()

    async def __call__(self) -> None:
        """Return once `wake` was called since the last return."""
        await self._event.wait()
        self._event = trio.Event()
