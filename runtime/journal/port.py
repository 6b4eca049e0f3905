"""What every journal can do. One contract suite (`tests/contracts/journal.py`) says the same in tests.

Order of duty for a driver: `claim` (an epoch), `read`, then `append` again and again, each naming the last record it
knows; `renew` before the lease ends; `release` at the end. People and other processes use `post` at any time.
A call that is cancelled has written nothing: once a write is handed to the store, its caller waits for the end of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from runtime.core.events import Record
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.kinds import FIRST_FORMAT, FIRST_KIND, Formats

E = TypeVar("E")


class Fact(NamedTuple, Generic[E]):
    """An event to append; `inbox` is the id of the posted message it consumes, if any."""

    event: E
    inbox: int | None = None


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run's status row. Times are UTC seconds since 1970."""

    run: str
    """Its id."""
    title: str
    """What lists of runs call it."""
    created: float
    """When it was admitted."""
    updated: float
    """When the row changed last."""
    last_seq: int
    """The place of its last record; 0 where it has none."""
    summary: Summary
    """What its machine says about its state."""
    owner: str | None
    """Who drives it; None when nobody holds a live lease."""
    epoch: int
    """How often it was claimed."""
    unread: bool = False
    """Whether a message lies in its inbox that no record has consumed; a run that has finished reads none."""
    kind: str = FIRST_KIND
    """The name of its kind, which this process need not know."""
    format: int = FIRST_FORMAT
    """The version of its kind's format that its events are written in."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list: by status, or all; newest first; at most `limit`."""

    status: str | None = None
    waiting_since_before: float | None = None
    limit: int = 200


@dataclass(frozen=True, slots=True)
class Posted:
    """The inbox's answer: `accepted`, `duplicate` (same key, same body) or `conflict` (same key, another body).

    `body` is what the inbox holds under the key.
    """

    result: Literal["accepted", "duplicate", "conflict"]
    inbox: int
    body: str


@dataclass(frozen=True, slots=True)
class Due:
    """What nobody looks after at the moment.

    `runs` can be taken up now, the one admitted first first: their time has come or a message lies in their inbox, and
    nobody drives them. `mail` are driven runs with messages that are not consumed. `next` is when the next run's time
    comes, by the clock (UTC seconds since 1970).
    """

    runs: tuple[str, ...] = ()
    mail: frozenset[str] = frozenset()
    next: float | None = None


@dataclass(frozen=True, slots=True)
class InboxItem:
    """A posted message: `inbox` counts up within a run; `body` is text that the poster wrote (JSON by convention)."""

    inbox: int
    key: str
    body: str
    at: float


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host that serves the journal now."""

    host: str
    """Its id, which no other host has."""
    owner: str
    """The name of its process, as in leases."""
    until: float
    """When its presence ends, unless it is announced again (UTC seconds since 1970)."""


Dead = Callable[[str], bool]
"""Tells whether the owner of a lease is certainly gone; asked within the transaction, so it must be quick."""


def nobody(_: str) -> bool:
    """Take no owner to be dead."""
    return False


class Journal(Protocol[E]):
    """The port. All adapters are used as `async with open_...(...) as journal`.

    Leases, days, due times and the presence of hosts go by the journal's own clock, which all processes share.
    """

    def now(self) -> float:
        """Return the time of the journal's clock, in UTC seconds since 1970. It costs next to nothing.

        Where the clock is a server's, this is an estimate, made from its last answer; the server itself decides about
        leases, days and due times.
        """
        ...

    async def create(self, run: str, title: str, kind: str = FIRST_KIND, format: int = FIRST_FORMAT) -> None:
        """Admit a run of a kind, whose events will be written in a version of that kind's format, durably.

        `run` matches `[a-z0-9][a-z0-9._-]{0,63}`. The kind need not be known here. Raises `RunExists`.
        """
        ...

    async def row(self, run: str) -> RunRow:
        """Return one status row. Raises `RunNotFound`."""
        ...

    async def runs(self, which: RunFilter) -> list[RunRow]:
        """Return the status rows that match, the newest run (the one admitted last) first."""
        ...

    async def claim(
        self, run: str, owner: str, ttl: float, *, dead: Dead = nobody, kinds: Formats | None = None
    ) -> int:
        """Take the run's lease for `ttl` seconds and return a new epoch, one above the last.

        A live lease is respected whoever asks, its own holder included; one that has run out may be taken, and so may
        one whose holder `dead` proves to be gone. Raises `RunNotFound`, `KindUnknown` for a run that is not of these
        kinds and formats, `Held`.
        """
        ...

    async def renew(self, run: str, epoch: int, ttl: float) -> None:
        """Let the lease end `ttl` seconds from now, also when it had run out and nobody took it. Raises `Fenced`."""
        ...

    async def release(self, run: str, epoch: int) -> None:
        """Give the lease back; a no-op for an older epoch. Nothing may be appended under it afterwards."""
        ...

    async def append(
        self,
        run: str,
        *,
        after: int,
        epoch: int,
        facts: Sequence[Fact[E]],
        summary: Summary,
        overdraw: bool = False,
    ) -> list[Record[E]]:
        """Append in one durable transaction, with the status row. All or nothing.

        What the summary has committed more than the last one is booked on the home's day; with `overdraw` even past
        the home's budget, for facts that reserve nothing and only tell what was used.

        No facts at all is a change of the status row only. A posted message is consumed at most once in a run, by the
        fact that names it; naming one that was consumed or never posted is a `JournalError`.

        Raises `RunNotFound`, `KindUnknown`, `Fenced`, `SequenceConflict`, `StorageFull`, `HomeBudgetSpent`.
        """
        ...

    async def read(self, run: str, after: int = 0) -> list[Record[E]]:
        """Return the records after `after`, verified. Raises `RunNotFound`, `JournalDamaged`, `KindUnknown`.

        Verified from the first record, also the run's kind and format are: the chain covers them.
        """
        ...

    async def post(self, run: str, key: str, body: str) -> Posted:
        """Put a message into the run's inbox, durably; `key` is unique within the run. Raises `RunNotFound`."""
        ...

    async def inbox(self, run: str, after: int = 0) -> list[InboxItem]:
        """Return posted messages with an id above `after`, in order. Raises `RunNotFound`, `JournalDamaged`."""
        ...

    async def due(self, limit: int, *, dead: Dead = nobody, kinds: Formats | None = None) -> Due:
        """Return the runs of these kinds and formats that no process drives, and those with unread messages.

        Of the first there are at most `limit`. No process drives a run whose lease has ended, or whose driver `dead`
        proves to be gone. A run that has no record yet, or was parked by a person, is not returned. Costs nothing for
        runs that wait.
        """
        ...

    async def announce(self, host: str, owner: str, ttl: float) -> None:
        """Enter a host as present for `ttl` seconds from now, or prolong its presence."""
        ...

    async def depart(self, host: str) -> None:
        """Enter that a host is not present any more; a no-op for one that is not."""
        ...

    async def hosts(self, *, dead: Dead = nobody) -> list[HostRow]:
        """Return the hosts that are present and whose process `dead` does not prove to be gone. Changes nothing."""
        ...

    async def spent_today(self) -> Amount:
        """Return what all runs of the home have committed in this UTC day (calls and money; tokens are not kept)."""
        ...

    async def version(self) -> int:
        """Return a number that changes whenever something new was committed, by this process or another.

        It costs microseconds and writes nothing: poll it, and read the inbox only when it has changed. Numbers of
        different openings of one journal are not comparable.
        """
        ...
