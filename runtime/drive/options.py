"""The options of a driver: the admission and lease of a run, its stop, callbacks, inbox signal and turn.

The runs of one process take turns with their model calls: the run with the fewest calls goes first. A run requests
nothing until its turn comes. The calls are counted in the runs' ledgers, so the order of the turns survives a killed
process.
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
        """Wait until a run whose call was refused may ask again."""
        await self._given.wait()
        self._given = trio.Event()

    def wake(self, fewest: float) -> None:
        """If this run was refused a call and has made at most `fewest` calls, let it ask again."""
        if self._refused and self.calls <= fewest:
            self._refused = False
            self._given.set()

    def note(self, calls: int, *, at_work: bool) -> None:
        """Store the run's calls and whether the run is at work. Other runs are woken if either has changed."""
        if (calls, at_work) != (self.calls, self.at_work):
            self.calls, self.at_work = calls, at_work
            self._turns.wake()


class Turns:
    """The runs of one process that take turns."""

    def __init__(self) -> None:
        self._members = set[Turn]()

    @contextmanager
    def join(self) -> Iterator[Turn]:
        """Within a `with` block, let a run take turns with the other runs."""
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
        """Wake the runs whose refused call is allowed now."""
        fewest = self.fewest
        for turn in self._members:
            turn.wake(fewest)


TERMINATED_SECONDS = 30.0
"""How long a process waits for replies in flight after SIGTERM, in seconds."""


class Ending(StrEnum):
    """The reason why a driver has stopped driving a run."""

    FINISHED = "finished"
    WAITING = "waiting"  # for a person; under a host, also for a time, because the host wakes the run
    PARKED = "parked"  # stopped on request


@dataclass(frozen=True, slots=True)
class Admission:
    """The facts about a new run that are written with its first records, in one transaction."""

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
    """A function that returns whether another owner has certainly ended. Nobody waits for the lease of such an owner.
    """
    kinds: Formats | None = None
    """The kinds and formats of runs that the driver can drive; None for all."""


@dataclass
class Stop:
    """A request to a driver to stop."""

    handover: bool = False
    """Whether another driver may continue the run at once, without a person's request."""
    requested: trio.Event = field(default_factory=trio.Event)
    """Once set, the driver starts nothing new, waits for replies in flight, and parks the run."""
    forced: trio.Event = field(default_factory=trio.Event)
    """Once set, the driver stops waiting for replies in flight."""
    grace: float | None = None
    """The longest wait for open replies, in seconds; None means as long as the time limits of the calls allow."""


ChangeSignal = Callable[[], Awaitable[None]]
"""A function that returns when the inbox may have changed since the last call."""


class Polling:
    """A signal that polls the journal for commits. It is used if the process has only one driver."""

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
    """A signal that a host sets for one of its runs, so that its runs need not poll."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def wake(self) -> None:
        """End the current wait, or the next one."""
        self._event.set()

    async def __call__(self) -> None:
        """Return once `wake` was called since the last return."""
        await self._event.wait()
        self._event = trio.Event()


OnRecord = Callable[[Record[Any], Any], None]
"""A function that is called with each appended record and the state after it."""
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
    """A function that is called with every record that the run appends; None for no call."""
    notice: Notice = ignore
    """A function that is called with one line when something outside the run delays it, such as a full disk."""
    changed: ChangeSignal | None = None
    """The signal that wakes the driver when there may be a message in the inbox; None polls the journal."""
    rest_after: float | None = None
    """A hosted run is released if it waits for a time that is more than this many seconds away. None means that the run
    is in the foreground and is not released.
    """
    at_once: bool = False
    """Whether a person has resumed the run and wants it to stop waiting."""
    turn: Turn | None = None
    """The object by which the run takes turns with other runs; None if the run takes no turns."""
    on_drift: Notice | None = None
    """A function that is called before a run is resumed whose original files have changed; None for no call."""


DETACHED = DriveOptions()
