"""The port of journals and cursors, and the choice of a codec for a run.

`tests/contracts/journal.py` tests every adapter.

A driver calls `claim`, which returns an epoch, and `read`. Then the driver calls `append` repeatedly, each time with
the number of the last record that the driver knows. The driver calls `renew` before the lease ends, and `release` at
the end. The driver of a new run calls `create` with the first records instead of `claim`, so every run in the journal
has a record. Other processes may call `post` at any time. A cancelled call has written nothing, because a call that has
passed a write to the store can no longer be cancelled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from runtime.core.daily_budget import HOME, HomeBudget
from runtime.core.errors import JournalNewer, JournalUnreadable, KindUnknown
from runtime.core.events import Codec, Record
from runtime.core.ledger import Amount
from runtime.core.machine import Summary

E = TypeVar("E")

FIRST_KIND = "planning"
"""The kind of all runs that were stored before journals had kinds. This name must not change, because stored journals
contain it.
"""

FIRST_FORMAT = 1
"""The format version of all runs of `FIRST_KIND` that were stored before journals had formats."""

Codecs = Mapping[str, Codec[Any]]

Formats = Mapping[str, int]
"""A mapping from the name of a kind to the highest format version of this kind that a process can drive."""


def codecs_by_kind(codecs: Codec[E] | Codecs) -> Codecs:
    """Return the codecs by kind. A single codec gets the key `FIRST_KIND`."""
    return {FIRST_KIND: codecs} if isinstance(codecs, Codec) else codecs


def codec_of(codecs: Codecs, run: str, kind: str, format: int) -> Codec[Any]:
    """Return the codec for a run of this kind and format version. Raises `KindUnknown` if there is none."""
    codec = codecs.get(kind)
    if codec is None or codec.format < format:
        raise KindUnknown(run, kind, format, None if codec is None else codec.format)
    return codec


def is_drivable(formats: Formats | None, kind: str, format: int) -> bool:
    """Return whether a process that drives these kinds and formats can drive this run; None means all."""
    return formats is None or format <= formats.get(kind, 0)


def check_drivable(formats: Formats | None, run: str, kind: str, format: int) -> None:
    """Raise `KindUnknown` if `is_drivable` returns False for the run."""
    if formats is not None and not is_drivable(formats, kind, format):
        raise KindUnknown(run, kind, format, formats.get(kind))


VERSION = 1
"""The version of the journals that this release writes. The first version is 1."""

BEFORE_FIRST = "an older development version wrote this journal, and this release cannot open it"
"""The cause that the error states for a journal with a version before 1."""


def check_version(place: str, version: int) -> None:
    """Raise `JournalNewer` if a journal's version is newer than this release's version."""
    if version > VERSION:
        raise JournalNewer(place, version, VERSION)


def before_first(place: str) -> JournalUnreadable:
    """Return the error for a journal that an older development version wrote."""
    return JournalUnreadable(place, BEFORE_FIRST, "use another home or database, or keep using that version")


class Fact(NamedTuple, Generic[E]):
    """An event to append. `inbox` is the id of the posted message that the event consumes, if any."""

    event: E
    inbox: int | None = None


class Placement(NamedTuple):
    """The tenant whose budget a run uses, and the run's priority when hosts are full."""

    tenant: str = ""
    """The tenant's name, which also names its daily budget and matches `[a-z0-9][a-z0-9._-]{0,63}`; empty for no
    tenant.
    """
    priority: int = 0
    """The priority, from -100 to 100. Hosts drive runs with a higher priority first."""


ORDINARY = Placement()
"""The placement of a run without a tenant and with the usual priority."""


class RunRow(NamedTuple):
    """A run's status row. The row has no nested objects, because lists contain thousands of rows.

    Times are UTC seconds since 1970.
    """

    run: str
    title: str
    kind: str
    """The name of the run's kind. A process can read the row even if it does not know this kind."""
    format: int
    """The version of the kind's format in which the run's events are written."""
    tenant: str
    """`tenant` and `priority` are the fields of the run's `Placement`."""
    priority: int
    created: float
    updated: float
    status: str
    """`status`, `detail`, `waiting_since` and `next_wake` are the fields of the `Summary` of the run's state."""
    detail: str
    waiting_since: float | None
    next_wake: float | None
    last_seq: int
    """The number of the run's last record; 0 if the run has no record."""
    last_posted: int
    """The id of the last posted message; 0 if no message was posted. `last_consumed` is the highest id of a message
    that a record has consumed.
    """
    last_consumed: int
    epoch: int
    calls: int
    """`calls`, `tokens` and `micro_usd` are the amounts that the run has committed, as in `Amount`."""
    tokens: int
    micro_usd: int
    near: str
    owner: str | None = None
    """The process that drives the run; None if no process holds a valid lease."""
    asks: bytes = b""
    """The open questions, as in `Summary`. In lists, this is empty unless `RunFilter.asks` is set."""

    @property
    def unread(self) -> bool:
        """Whether the inbox has a message that no record has consumed; False for a finished run."""
        return self.last_posted > self.last_consumed and self.status != "finished"

    @property
    def placement(self) -> Placement:
        """The run's tenant and priority."""
        return Placement(self.tenant, self.priority)

    @property
    def summary(self) -> Summary:
        """The summary of the run's state, as its machine returns it."""
        committed = Amount(self.calls, self.tokens, self.micro_usd)
        return Summary(self.status, self.detail, self.waiting_since, self.next_wake, committed, self.asks, self.near)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The conditions for the runs that `Journal.runs` lists. A listed run meets all conditions."""

    status: str | None = None
    """Only runs whose status row has this status; None for any status."""
    waiting_since_before: float | None = None
    """Only runs that began to wait for a person before this time (UTC seconds since 1970); None for any."""
    title_start: str = ""
    run_start: str = ""
    unfinished: bool = False
    tops: bool = False
    """Only runs that are not child runs: the id of a child run contains a dot."""
    asks: bool = False
    """Only runs with open questions. The rows of these runs include the questions (`RunRow.asks`)."""
    limit: int = 200
    """The largest number of listed runs. If more runs match, the newest of them are listed."""
    begin: int = 0
    """The number of matching runs to skip, beginning with the newest."""


class Totals(NamedTuple):
    """The totals of the runs that match a filter: the numbers of runs, of records, and of runs with a driver."""

    runs: int
    records: int
    owned: int


class Posted(NamedTuple):
    """The result of posting a message."""

    result: Literal["accepted", "duplicate", "conflict"]
    """`duplicate`: the inbox already has this body under this key. `conflict`: the inbox has another body under this
    key.
    """
    inbox: int
    """The id of the message under this key in the inbox."""
    body: str
    """The text of the message in the inbox. In a conflict, this differs from the text that the caller tried to post."""


class Due(NamedTuple):
    """The work that a host has now, and the time at which it should look again."""

    runs: tuple[str, ...] = ()
    """The runs that need a driver now, because they are due or have unread messages. The runs are sorted by priority,
    then by admission.
    """
    unread: frozenset[str] = frozenset()
    """The runs that have a driver, and have messages that no record has consumed."""
    next: float | None = None
    """The time at which the next run is due (UTC seconds since 1970), by the journal's clock."""


class InboxItem(NamedTuple):
    """A message in a run's inbox, consumed or not."""

    inbox: int
    """The id of the message. The first message of a run has the id 1."""
    key: str
    """The name that the sender gave the message. No two messages of a run have the same key."""
    body: str
    """The text from the sender, by convention JSON."""
    at: float
    """The time when the message was posted (UTC seconds since 1970)."""


class Deleted(NamedTuple):
    """The result of deleting runs."""

    runs: int
    texts: int = 0
    """The number of deleted texts. No other run used these texts."""
    text_bytes: int = 0
    """The length of the deleted texts in bytes."""


class HostRow(NamedTuple):
    """A host that serves the journal now."""

    host: str
    owner: str
    until: float
    """The time at which the host no longer counts as present, unless it is announced again (UTC seconds since 1970)."""
    kinds: Formats | None = None
    """The kinds of runs that the host drives, with their highest formats; None for all kinds."""


NEW = Summary("running")
"""The summary of a run that has no records yet."""

Dead = Callable[[str], bool]
"""A function that returns whether the process that owns a lease has certainly ended. The function is called within a
transaction, so it must be quick.
"""


def nobody(_: str) -> bool:
    """Return False: no owner counts as dead. Callers pass this if they cannot tell whether an owner has ended."""
    return False


class Readable(Protocol[E]):
    """The methods of a journal that only read."""

    async def row(self, run: str) -> RunRow:
        """Return one status row. Raises `RunNotFound`."""

    async def runs(self, which: RunFilter) -> list[RunRow]:
        """Return the status rows that match a filter, the newest run first."""

    async def totals(self, which: RunFilter) -> Totals:
        """Return the totals of all runs that match a filter, not only of the listed runs."""

    async def read(self, run: str, after: int = 0) -> list[Record[E]]:
        """Return the verified records with a number above `after`.

        Raises `RunNotFound`, `JournalDamaged`, `KindUnknown`.

        With the first record, the run's kind and format are verified too, because the chain covers them.
        """

    async def inbox(self, run: str, after: int = 0) -> list[InboxItem]:
        """Return posted messages with an id above `after`, in order. Raises `RunNotFound`, `JournalDamaged`."""

    async def hosts(self, *, dead: Dead = nobody) -> list[HostRow]:
        """Return the present hosts, except those whose process is `dead`. This changes nothing."""


CURSOR_LIMIT = 200


class Behind(NamedTuple):
    """A run with records that a cursor has not passed."""

    number: int
    """The position of the run in the order of admission. To get further runs, pass the last number as `beyond` of
    `Cursors.behind`.
    """
    run: str
    kind: str
    format: int
    position: int
    """The number of the last record that the cursor has passed; 0 if it has passed no record."""
    last_seq: int


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of runs of one kind with one status. Times are UTC seconds since 1970."""

    kind: str
    status: str
    runs: int
    waiting_since: float | None = None
    """The time at which the longest waiting run began to wait for a person."""
    undriven_since: float | None = None
    """Of the runs that are due and have no driver: the earliest time at which one of them last changed."""


class Cursors(Protocol):
    """The methods of a journal that keep cursors and count runs.

    A cursor is the progress of a program that copies records elsewhere, such as an exporter of traces or a sender of
    webhooks. A cursor has a name, and stores the number of the last copied record of each run. A cursor is stored
    outside the records and never changes them. A lease allows only one process at a time to hold a cursor. So each
    record is copied at least once. A record is copied twice only if a process died before it moved the cursor.
    """

    async def hold_cursor(
        self, name: str, owner: str, ttl: float, *, dead: Callable[[str], bool], skip: frozenset[str] = frozenset()
    ) -> bool:
        """Hold a cursor for `ttl` seconds from now. Return False if another process holds the cursor.

        For a new cursor, all records of the runs whose status is in `skip` count as copied. If the cursor's owner is
        certainly `dead`, another process can hold the cursor at once.
        """

    async def leave_cursor(self, name: str, owner: str) -> None:
        """End the hold of a cursor now. If `owner` does not hold the cursor, do nothing."""

    async def move_cursor(self, name: str, owner: str, positions: Mapping[str, int]) -> bool:
        """Move the cursor past the records up to these numbers, in one durable transaction.

        The cursor never moves back. Return False and change nothing if `owner` does not hold the cursor. Deleted runs
        are ignored.
        """

    async def behind(self, name: str, limit: int = CURSOR_LIMIT, *, beyond: int = 0) -> list[Behind]:
        """Return the runs with records that the cursor has not passed, in the order of admission.

        Only runs whose number is above `beyond` are returned, and at most `limit` of them.
        """

    async def tally(self) -> list[Tally]:
        """Count the runs by kind and status."""


class Journal(Readable[E], Cursors, Protocol[E]):
    """The port. Every adapter is opened with `async with open_...(...) as journal`.

    Leases, days, due times and the presence of hosts are determined by the journal's own clock, which all processes
    share.

    If a newer release upgrades the open journal, every method except `now` and `version` raises `JournalNewer` and
    writes nothing.
    """

    def now(self) -> float:
        """Return the time of the journal's clock, in UTC seconds since 1970. The call costs almost nothing.

        If the clock is that of a database server, the result is an estimate from the server's last answer. The server
        itself decides about leases, days and due times.
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
        """Admit a run with its first records, in one durable transaction, and return the records.

        The records are written under epoch 1, as by `append`. An `owner` holds the run's lease under that epoch for
        `ttl` seconds. Without an owner, nobody holds the lease, and the first `claim` returns epoch 2. Without facts
        and without an owner, only the status row is added, with epoch 0. A program that starts runs always gives facts.

        `run` is the id, which matches `[a-z0-9][a-z0-9._-]{0,63}`. `title` is the title of the run in lists. `kind` is
        the name of the run's kind. Without facts, the journal need not know the kind. `format` is the version of the
        kind's format in which the events are written. `facts` are the first events. No first event consumes a message.
        `summary` is the summary of the state after these events. `owner` is the process that drives the run from now
        on, and `ttl` is the length of the lease in seconds. `overdraw` has the same meaning as in `append`. `placement`
        has the tenant whose budget the run uses, and the run's priority.

        Raises `RunExists`, `StorageFull`, `HomeBudgetSpent`, and `KindUnknown` for facts of a kind that is not known
        here. Raises `JournalDamaged` if a run had this id and all of its records are missing.
        """

    async def claim(
        self, run: str, owner: str, ttl: float, *, dead: Dead = nobody, kinds: Formats | None = None
    ) -> int:
        """Claim the run's lease for `ttl` seconds, and return a new epoch, one higher than the last.

        A valid lease cannot be claimed, even by its owner. A lease can be claimed if it has ended, or if its owner is
        certainly `dead`. Raises `RunNotFound`, `Held`, `KindUnknown` if the run's kind and format are not in `kinds`,
        and `JournalDamaged` if the run's last records are missing.
        """

    async def renew(self, run: str, epoch: int, ttl: float) -> None:
        """Extend the lease, so that it ends `ttl` seconds from now.

        A lease that has ended can be renewed until another process claims it. Raises `Fenced`.
        """

    async def release(self, run: str, epoch: int) -> None:
        """End the lease now.

        Afterwards, nothing can be appended under the lease's epoch. For an older `epoch`, do nothing.
        """

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
        """Append the facts and change the status row, in one durable transaction.

        The amount that the run has committed since its last append is added to the day's total. With `overdraw`, the
        total may exceed the daily budget. Use `overdraw` only for facts that reserve nothing and only report usage.

        Without facts, only the status row changes. A posted message is consumed at most once, by the fact that has its
        id. If a fact has the id of a message that was consumed or never posted, `JournalError` is raised.

        Raises `RunNotFound`, `KindUnknown`, `Fenced`, `SequenceConflict`, `StorageFull`, `HomeBudgetSpent`.
        """

    async def post(self, run: str, key: str, body: str) -> Posted:
        """Put a message into the run's inbox, durably. `key` is unique within the run. Raises `RunNotFound`."""

    async def delete(self, runs: Mapping[str, int], *, dead: Dead = nobody) -> Deleted:
        """Delete runs permanently: records, messages, rows, and texts that no other run uses. Spent amounts are kept.

        `runs` maps each run's id to the expected number of its last record. Either all runs are deleted, or none of
        them. Raises `RunNotFound`, `Held` for a run with a driver, and `SequenceConflict` for a run whose last record
        has another number.
        """

    async def due(self, limit: int, *, dead: Dead = nobody, kinds: Formats | None = None) -> Due:
        """Return the runs of these kinds and formats that a host must drive or wake.

        At most `limit` runs to drive are returned. A run has no driver if its lease has ended or its owner is certainly
        `dead`. The query takes no longer if more runs wait. Runs without records, and runs that a person has parked,
        are not returned.
        """

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        """Record that a host is present for `ttl` seconds from now. `kinds` are the kinds that the host drives."""

    async def depart(self, host: str) -> None:
        """Record that a host is no longer present. If the host was not announced, do nothing."""

    async def spent_today(self, tenant: str = HOME) -> Amount:
        """Return the calls and money that all runs, or a tenant's runs, have committed in this UTC day.

        Tokens are not stored per day.
        """

    async def budgets_today(self, run: str) -> list[tuple[HomeBudget, Amount]]:
        """Return the daily budgets that limit a run, each with the amount that is committed in this UTC day.

        Budgets without a limit are not returned. Raises `RunNotFound`.
        """

    async def version(self) -> int:
        """Return a number that changes with every commit of any process.

        The call takes microseconds and writes nothing. So a process can poll the number, and read the inbox only if the
        number has changed. Compare only numbers from the same journal object.
        """
