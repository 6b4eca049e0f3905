"""The port of journals, and the codecs of kinds of runs. `tests/contracts/journal.py` tests every adapter.

A driver calls `claim` (which returns an epoch) and `read`, then `append` repeatedly, each time naming the last record
that it knows; `renew` before the lease ends; `release` at the end. The driver of a new run calls `create` with the
first records instead of `claim`. So every run in the journal has a record. Other processes may call `post` at any time.
A cancelled call has written nothing: once a write is handed to the store, its caller waits until it is done.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from runtime.core.daily_budget import HOME
from runtime.core.errors import JournalNewer, JournalUnreadable, KindUnknown
from runtime.core.events import Codec, Record
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.cursors import Cursors

E = TypeVar("E")

FIRST_KIND = "planning"
"""The kind of every run that was written before a journal stored kinds. Frozen: it is part of stored journals."""

FIRST_FORMAT = 1
"""The format version of the runs of `FIRST_KIND` from before formats were stored."""

Codecs = Mapping[str, Codec[Any]]
"""The codec of each kind, by the kind's name."""

Formats = Mapping[str, int]
"""The highest format version that a process can drive, by the kind's name."""


def codecs_by_kind(codecs: Codec[E] | Codecs) -> Codecs:
    """Return codecs by kind; a single codec is that of `FIRST_KIND`."""
    return {FIRST_KIND: codecs} if isinstance(codecs, Codec) else codecs


def codec_of(codecs: Codecs, run: str, kind: str, format: int) -> Codec[Any]:
    """Return the codec for a run of a kind in this format version. Raises `KindUnknown`."""
    codec = codecs.get(kind)
    if codec is None or codec.format < format:
        raise KindUnknown(run, kind, format, None if codec is None else codec.format)
    return codec


def is_drivable(formats: Formats | None, kind: str, format: int) -> bool:
    """Tell whether a process that can drive these formats can drive a run of this kind and format; None for all."""
    return formats is None or format <= formats.get(kind, 0)


def check_drivable(formats: Formats | None, run: str, kind: str, format: int) -> None:
    """Raise `KindUnknown` for a run that is not `is_drivable`."""
    if formats is not None and not is_drivable(formats, kind, format):
        raise KindUnknown(run, kind, format, formats.get(kind))


VERSION = 1
"""The version of the journals that this release writes; 1 is the first."""

BEFORE_FIRST = "written by an older development version, whose journals this one does not open"
"""The cause in the error about a journal from before version 1."""


def check_version(place: str, version: int) -> None:
    """Raise `JournalNewer` for a journal whose version is newer than this release's."""
    if version > VERSION:
        raise JournalNewer(place, version, VERSION)


def before_first(place: str) -> JournalUnreadable:
    """Return the error for a journal of an older development version."""
    return JournalUnreadable(place, BEFORE_FIRST, "begin another home or database, or go on with that version")


class Fact(NamedTuple, Generic[E]):
    """An event to append; `inbox` is the id of the posted message it consumes, if any."""

    event: E
    inbox: int | None = None


class Placement(NamedTuple):
    """The tenant that pays for a run, and the run's priority when hosts are full."""

    tenant: str = ""
    """A label with a daily budget, which matches `[a-z0-9][a-z0-9._-]{0,63}`; empty for none."""
    priority: int = 0
    """Runs with a higher one come first; from -100 to 100."""


ORDINARY = Placement()
"""The placement of a run without tenant and with the usual priority."""


class RunRow(NamedTuple):
    """A run's status row, flat because thousands are listed at a time. Times are UTC seconds since 1970."""

    run: str
    title: str
    kind: str
    """The name of its kind, which this process need not know."""
    format: int
    """The version of its kind's format that its events are written in."""
    tenant: str
    """The tenant of its `Placement`; the priority is from there, too."""
    priority: int
    created: float
    updated: float
    """When the row changed last."""
    status: str
    """From the `Summary` of its state, like the next three fields."""
    detail: str
    waiting_since: float | None
    next_wake: float | None
    last_seq: int
    """The place of its last record; 0 where it has none."""
    last_posted: int
    """The id of its last posted message, or 0; then the highest that a record has consumed."""
    last_consumed: int
    epoch: int
    """How often it was claimed."""
    calls: int
    """The calls that it has committed, as in `Amount`; so have tokens and money."""
    tokens: int
    micro_usd: int
    owner: str | None = None
    """The process that drives it; None when nobody holds a live lease."""
    asks: bytes = b""
    """Its open questions, as in `Summary`; lists have them only where they are asked for."""

    @property
    def unread(self) -> bool:
        """Whether a message lies in its inbox that no record has consumed; a run that has finished reads none."""
        return self.last_posted > self.last_consumed and self.status != "finished"

    @property
    def placement(self) -> Placement:
        """Its tenant and its priority."""
        return Placement(self.tenant, self.priority)

    @property
    def summary(self) -> Summary:
        """The summary of its state, as its machine gives it."""
        committed = Amount(self.calls, self.tokens, self.micro_usd)
        return Summary(self.status, self.detail, self.waiting_since, self.next_wake, committed, self.asks)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs `Journal.runs` lists: those that meet all conditions."""

    status: str | None = None
    """Only runs whose status row has this status; None for any."""
    waiting_since_before: float | None = None
    """Only runs that began to wait for a person before this time (UTC seconds since 1970); None for any."""
    title_start: str = ""
    """Only runs whose title begins so."""
    run_start: str = ""
    """Only runs whose id begins so."""
    unfinished: bool = False
    """Only runs that have not finished."""
    tops: bool = False
    """Only runs that are no steps of others: whose ids have no dot."""
    asks: bool = False
    """Only runs with open questions; their rows then have them, which other lists leave out (`RunRow.asks`)."""
    limit: int = 200
    """How many runs are listed at most; the oldest are left out."""
    begin: int = 0
    """How many of the newest are left out."""


class Totals(NamedTuple):
    """Totals of the runs that match a filter: the runs, their records, and the runs with an owner."""

    runs: int
    records: int
    owned: int


class Posted(NamedTuple):
    """The result of posting a message."""

    result: Literal["accepted", "duplicate", "conflict"]
    """`duplicate`: the inbox has the same body under this key; `conflict`: it has another body under this key."""
    inbox: int
    """The id of the message that the inbox has under the key."""
    body: str
    """The text of that message, which for a conflict is not the one posted now."""


class Due(NamedTuple):
    """The present work of a host, and the time of its next look."""

    runs: tuple[str, ...] = ()
    """Runs to drive now, by priority and then in the order of admission: they are due or have unread messages."""
    unread: frozenset[str] = frozenset()
    """Driven runs with messages that are not consumed."""
    next: float | None = None
    """When the next run is due (UTC seconds since 1970), by the journal's clock."""


class InboxItem(NamedTuple):
    """A message in a run's inbox, whether or not a record has consumed it."""

    inbox: int
    """Its id: counts up within a run."""
    key: str
    """The name that the poster gave it; a run has one message under each key."""
    body: str
    """The text that the poster wrote, by convention JSON."""
    at: float
    """When it was posted (UTC seconds since 1970)."""


class Deleted(NamedTuple):
    """What was deleted."""

    runs: int
    texts: int = 0
    """How many texts that no other run names."""
    text_bytes: int = 0
    """The length of these texts in bytes."""


class HostRow(NamedTuple):
    """A host that serves the journal now."""

    host: str
    """Its id, which no other host has."""
    owner: str
    """The name of its process, as in leases."""
    until: float
    """When its presence ends, unless it is announced again (UTC seconds since 1970)."""
    kinds: Formats | None = None
    """The kinds of runs that it drives, with their highest formats; None for any."""


NEW = Summary("running")
"""The summary of a run without records."""

Dead = Callable[[str], bool]
"""Tells whether the owner of a lease is certainly gone. Called within a transaction, so it must be quick."""


def nobody(_: str) -> bool:
    """Take no owner for dead: for callers that cannot tell."""
    return False


class Readable(Protocol[E]):
    """The half of the port that reads."""

    async def row(self, run: str) -> RunRow:
        """Return one status row. Raises `RunNotFound`."""

    async def runs(self, which: RunFilter) -> list[RunRow]:
        """Return the status rows that match, the run admitted last first."""

    async def totals(self, which: RunFilter) -> Totals:
        """Return the totals of all runs that match, whatever part of them is listed."""

    async def read(self, run: str, after: int = 0) -> list[Record[E]]:
        """Return the records after `after`, verified. Raises `RunNotFound`, `JournalDamaged`, `KindUnknown`.

        If the first record is among them, the run's kind and format are verified too: the chain covers them.
        """

    async def inbox(self, run: str, after: int = 0) -> list[InboxItem]:
        """Return posted messages with an id above `after`, in order. Raises `RunNotFound`, `JournalDamaged`."""

    async def hosts(self, *, dead: Dead = nobody) -> list[HostRow]:
        """Return the hosts that are present, without those whose process is `dead`. Changes nothing."""


class Journal(Readable[E], Cursors, Protocol[E]):
    """The port. All adapters are used as `async with open_...(...) as journal`.

    Leases, days, due times and the presence of hosts go by the journal's own clock, which all processes share.

    Where a newer release has upgraded the journal while it is open, every method but `now` and `version` raises
    `JournalNewer`, and writes nothing.
    """

    def now(self) -> float:
        """Return the time of the journal's clock, in UTC seconds since 1970. It costs next to nothing.

        Where the clock is a server's, this is an estimate, made from its last answer; the server itself decides about
        leases, days and due times.
        """

    async def create(
        self,
        run: str,
        title: str,
        kind: str = FIRST_KIND,
        format: int = FIRST_FORMAT,
        *,
        facts: Sequence[Fact[E]] = (),
        summary: Summary = NEW,
        owner: str | None = None,
        ttl: float = 0.0,
        overdraw: bool = False,
        placement: Placement = ORDINARY,
    ) -> list[Record[E]]:
        """Admit a run with its first records, in one durable transaction: all or nothing. Return the records.

        The records are written under epoch 1, as by `append`. An `owner` holds the run's lease under that epoch, for
        `ttl` seconds; without one nobody does, and the first `claim` returns epoch 2. Without facts and an owner only
        the status row is added, at epoch 0; a program that starts runs gives facts.

        Args:
            run: matches `[a-z0-9][a-z0-9._-]{0,63}`.
            title: the title of the run in lists.
            kind: the name of its kind; without facts it need not be known here.
            format: the version of the kind's format that the events are written in.
            facts: the first events; none of them consumes a message.
            summary: the summary of the state after them.
            owner: the process that drives the run from now on.
            ttl: the length of its lease in seconds.
            overdraw: as for `append`.
            placement: whom the run is accounted to, and its priority.

        Raises `RunExists`, `StorageFull`, `HomeBudgetSpent`, and `KindUnknown` for facts of a kind that is not known
        here. Raises `JournalDamaged` where there was a run of this id, and all of its records are missing.
        """

    async def claim(
        self, run: str, owner: str, ttl: float, *, dead: Dead = nobody, kinds: Formats | None = None
    ) -> int:
        """Take the run's lease for `ttl` seconds and return a new epoch, one above the last.

        A live lease is respected, even for its own holder. A lease that has ended may be taken, and so may one whose
        holder `dead` proves to be gone. Raises `RunNotFound`, `KindUnknown` for a run that is not of these
        kinds and formats, `Held`, and `JournalDamaged` for a run whose last records are missing.
        """

    async def renew(self, run: str, epoch: int, ttl: float) -> None:
        """Let the lease end `ttl` seconds from now, also if it has ended and was not taken. Raises `Fenced`."""

    async def release(self, run: str, epoch: int) -> None:
        """End the lease now; a no-op for an older epoch. Nothing may be appended under it afterwards."""

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
        """Append the facts and change the status row in one durable transaction: all or nothing.

        What the summary has committed beyond the last one is booked on the day. `overdraw` allows this past the daily
        budget, for facts that reserve nothing and only say what was used.

        Without facts only the status row changes. A posted message is consumed at most once, by the fact that names it;
        naming one that was consumed or never posted raises `JournalError`.

        Raises `RunNotFound`, `KindUnknown`, `Fenced`, `SequenceConflict`, `StorageFull`, `HomeBudgetSpent`.
        """

    async def post(self, run: str, key: str, body: str) -> Posted:
        """Put a message into the run's inbox, durably; `key` is unique within the run. Raises `RunNotFound`."""

    async def delete(self, runs: Mapping[str, int], *, dead: Dead = nobody) -> Deleted:
        """Delete runs for good: records, messages, rows, and texts that no other run names; what was spent stays.

        `runs` has the place of each run's last record, as it is known. All are deleted or none. Raises `RunNotFound`,
        `Held` for a run that somebody drives, `SequenceConflict` for one that has other records by now.
        """

    async def due(self, limit: int, *, dead: Dead = nobody, kinds: Formats | None = None) -> Due:
        """Return the runs of these kinds and formats that a host has to drive or wake.

        At most `limit` runs are to be driven. No process drives a run whose lease has ended or whose driver `dead`
        proves to be gone. Runs that wait cost nothing. A run without a record, or one that a person has parked, is left
        out.
        """

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        """Enter a host as present for `ttl` seconds from now, or prolong its presence; `kinds` are those it drives."""

    async def depart(self, host: str) -> None:
        """Enter that a host is not present any more; a no-op for one that is not."""

    async def spent_today(self, tenant: str = HOME) -> Amount:
        """Return the calls and money that all runs, or those of a tenant, have committed in this UTC day.

        Tokens are not stored per day.
        """

    async def version(self) -> int:
        """Return a number that changes whenever this process or another commits something.

        It costs microseconds and writes nothing: poll it, and read the inbox only when it has changed. Do not compare
        numbers of different openings of a journal.
        """
