"""The options of a driver, such as the terms of its lease, the request to stop, and callbacks.

The runs of one process take turns with their model calls: the run with the fewest calls goes first. A run makes no
request until its turn comes. The runs' ledgers count the calls, so the order is the same after a process was killed and
restarted.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any

import trio

from runtime.core.events import Record
from runtime.journal.port import FIRST_FORMAT, FIRST_KIND, ORDINARY, Dead, Formats, Journal, Placement, nobody


class Turn:
    """One run that takes turns with the other runs of its process."""

    def __init__(self, turns: "Turns") -> None:
        self._turns = turns
        self.calls = 0
        """The calls that the run has committed, including open calls; 0 until the ledger was read."""
        self.at_work = True
        """Whether runs with more calls wait for this run. Those runs wait until this run's records are read, while it
        waits for its turn, and while a model or a guard works for it. They do not wait while this run waits for a
        person, a time or a tool.
        """
        self._refused = False
        self._given = trio.Event()

    def may_call(self, calls: int) -> bool:
        """Return whether this run, with `calls` committed calls, may make the next call. If not, wait for `given`."""
        self.note(calls, at_work=True)
        self._refused = calls > self._turns.fewest
        return not self._refused

    async def given(self) -> None:
        """Wait until this run, whose call was refused, may request the call again."""
        await self._given.wait()
        self._given = trio.Event()

    def wake(self, fewest: float) -> None:
        """Let this run request its refused call again, if it has committed at most `fewest` calls."""
        if self._refused and self.calls <= fewest:
            self._refused = False
            self._given.set()

    def note(self, calls: int, *, at_work: bool) -> None:
        """Store how many calls the run has committed, and whether it is at work.

        If one of them has changed, wake other runs.
        """
        if (calls, at_work) != (self.calls, self.at_work):
            self.calls, self.at_work = calls, at_work
            self._turns.wake()


class Turns:
    """The runs of one process that take turns."""

    def __init__(self) -> None:
        self._members = set[Turn]()

    @contextmanager
    def join(self) -> Iterator[Turn]:
        """Return a context manager that yields the turn of a new run.

        Within its `with` block, the run takes turns with the others.
        """
        turn = Turn(self)
        self._members.add(turn)
        try:
            yield turn
        finally:
            self._members.remove(turn)
            self.wake()

    @property
    def fewest(self) -> float:
        """The smallest number of calls of the runs that are at work; infinite if no run is at work."""
        return min((turn.calls for turn in self._members if turn.at_work), default=inf)

    def wake(self) -> None:
        """Wake each run whose call was refused and is allowed now."""
        fewest = self.fewest
        for turn in self._members:
            turn.wake(fewest)


TERMINATED_SECONDS = 30.0
"""The longest time, in seconds, that a process waits for open replies after it has got SIGTERM."""


class Ending(StrEnum):
    """The reason why a driver has stopped driving a run."""

    FINISHED = "finished"
    WAITING = "waiting"  # for a person; under a host, also for a time, because the host wakes the run
    PARKED = "parked"  # stopped on request


@dataclass(frozen=True, slots=True)
class Admission:
    """The facts about a new run that are written in the same transaction as its first records."""

    title: str
    kind: str = FIRST_KIND
    format: int = FIRST_FORMAT
    placement: Placement = ORDINARY
    """The tenant that pays for the run, and the run's priority."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """The terms of a driver's lease on a run."""

    owner: str
    ttl: float = 30.0
    """The length of a lease in seconds. The driver renews the lease four times in this time."""
    poll: float = 0.25
    """The seconds between two checks of the inbox by a driver that no host wakes."""
    dead: Dead = nobody
    """A function that returns whether another owner's process has certainly ended. The lease of such an owner does not
    count.
    """
    kinds: Formats | None = None
    """The kinds and formats of runs that the driver can drive; None means all."""


@dataclass
class Stop:
    """A request to a driver to stop."""

    handover: bool = False
    """Whether another driver may continue the run at once, without a person's request."""
    requested: trio.Event = field(default_factory=trio.Event)
    """An event. Once it is set, the driver starts nothing new, waits for the replies in flight, and parks the run."""
    forced: trio.Event = field(default_factory=trio.Event)
    """An event. Once it is set, the driver no longer waits for replies in flight."""
    grace: float | None = None
    """The longest wait for open replies, in seconds; None means as long as the time limits of the calls allow."""


ChangeSignal = Callable[[], Awaitable[None]]
"""A function that waits, and returns as soon as the inbox may have changed since the last call of this function."""


class Polling:
    """A signal that finds commits by polling the journal. A process with only one driver uses it."""

    def __init__(self, journal: Journal[Any], seconds: float) -> None:
        self._journal, self._seconds, self._version = journal, seconds, -1

    async def __call__(self) -> None:
        """Wait until the journal has changed since the last call."""
        while True:
            await trio.sleep(self._seconds)
            version = await self._journal.version()
            if version != self._version:
                self._version = version
                return


class WakeSignal:
    """A signal that a host sets for one of its runs, so that the run's driver need not poll the journal."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def wake(self) -> None:
        """End the current wait, or the next one."""
        self._event.set()

    async def __call__(self) -> None:
        """Wait until `wake` has been called since the last return."""
        await self._event.wait()
        self._event = trio.Event()


OnRecord = Callable[[Record[Any], Any], None]
"""A function that is called after each append of a record, with the record and the run's state after this record."""
Notice = Callable[[str], None]
"""A function that is called with one line of text for the user."""


def ignore(_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class DriveOptions:
    """The arguments of `runtime.drive.supervisor.Supervisor` that say how a run is driven."""

    stop: Stop | None = None
    """The request to stop; None if the run cannot be stopped."""
    on_record: OnRecord | None = None
    """A function that is called with every record that the run appends; may be None."""
    notice: Notice = ignore
    """A function that is called with one line when something outside the run delays it, such as a full disk."""
    changed: ChangeSignal | None = None
    """The signal that wakes the driver when the inbox may have a message. If None, the driver polls the journal."""
    rest_after: float | None = None
    """The longest wait, in seconds, during which a host keeps driving a run; a run that waits longer is released. None
    means that the run is in the foreground and is never released.
    """
    at_once: bool = False
    """Whether a person has resumed the run and wants it to end its current wait."""
    turn: Turn | None = None
    """The object by which the run takes turns with other runs; None if the run takes no turns."""
    on_drift: Notice | None = None
    """A function that is called before a run is resumed, if its configuration on disk has changed; may be None."""


DETACHED = DriveOptions()
