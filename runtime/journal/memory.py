"""The journal in memory: no threads, no I/O, deterministic. It is used for simulation and tests.

A `MemoryStore` has the committed data, and remains after the journals that were opened on it are closed. A `Fault` is a
function that is called just before and just after the commit of every operation. If it raises an error before the
commit, nothing is written. If it raises an error after the commit, the data is written, but the caller gets the error.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import trio

from runtime.core.clock import Clock
from runtime.core.daily_budget import BudgetSource, HomeBudget
from runtime.core.errors import RunExists, RunNotFound
from runtime.core.events import Codec
from runtime.core.ledger import ZERO, Amount
from runtime.journal import rules
from runtime.journal.chain import Stored, Tip
from runtime.journal.head import RunHead
from runtime.journal.operations import Operations
from runtime.journal.port import (
    CURSOR_LIMIT,
    Behind,
    Codecs,
    Dead,
    Deleted,
    Formats,
    HostRow,
    InboxItem,
    Journal,
    Tally,
    codecs_by_kind,
)
from runtime.journal.raw import Part, StoreReader
from runtime.journal.rules import Change, Locked, RunOperation, may_hold, named_texts
from runtime.journal.validation import check_text

E = TypeVar("E")
T = TypeVar("T")


@dataclass
class HeldRun:
    """A run in memory: its row, records and messages."""

    head: RunHead
    rows: list[Stored] = field(default_factory=list)
    posted: list[InboxItem] = field(default_factory=list)

    @property
    def consumed(self) -> set[int]:
        """The ids of the messages that records have consumed."""
        return {row.inbox for row in self.rows if row.inbox is not None}


@dataclass
class MemoryCursor:
    """The data of one cursor."""

    owner: str | None = None
    """The process that holds the cursor; None if no process holds it."""
    until: float = 0.0
    """The time until which this process holds the cursor (UTC seconds since 1970)."""
    positions: dict[str, int] = field(default_factory=dict)
    """The number of the last record that the cursor has passed, for each run id."""


@dataclass
class MemoryStore:
    """The committed data of a journal in memory.

    The store remains when the journal is closed, and another journal can be opened on it.
    """

    runs: dict[str, HeldRun] = field(default_factory=dict)
    """The runs by their ids, in the order of their admission."""
    texts: dict[str, bytes] = field(default_factory=dict)
    """The long texts of all events, by their hash in hex. Each text is stored once."""
    days: dict[tuple[str, int], Amount] = field(default_factory=dict)
    """The amounts that each tenant's runs, and all runs, have committed on each UTC day. Days are counted from 1970."""
    hosts: dict[str, HostRow] = field(default_factory=dict)
    """The hosts that were announced and have not departed, by id. A host may be listed although its presence has
    expired.
    """
    cursors: dict[str, MemoryCursor] = field(default_factory=dict)
    version: int = 0
    """The number of commits so far, as `Journal.version` returns it."""

    def find_run(self, run: str) -> HeldRun:
        """Return a run. Raises `RunNotFound`."""
        if run not in self.runs:
            raise RunNotFound(run)
        return self.runs[run]

    def carry_out(self, work: RunOperation[T], now: float, budget: HomeBudget) -> T:
        """Carry out a write operation. If the operation raises an error, nothing is changed."""
        if work.new is not None and work.run in self.runs:
            raise RunExists(work.run)
        new = work.new and HeldRun(work.new._replace(created=now, updated=now))
        held = new or self.find_run(work.run)
        message = next((item for item in held.posted if item.key == work.key), None)
        consumes = [inbox for inbox in work.consumes if 0 < inbox <= len(held.posted)]
        consumed = held.consumed if consumes else set[int]()
        change = work.decide(Locked(held.head, now, message, {inbox: inbox not in consumed for inbox in consumes}))
        self.days |= self._new_totals(change, now, budget)
        if change.head is not None:
            held.head = change.head
        held.rows += change.records
        held.posted += [change.posted] if change.posted is not None else []
        for entry in work.entries:
            self.texts.update(entry.texts)
        self.runs[work.run] = held
        return change.result

    def _new_totals(self, change: Change[Any], now: float, budget: HomeBudget) -> dict[tuple[str, int], Amount]:
        booking, days = change.booking, dict[tuple[str, int], Amount]()
        if booking is None or change.head is None:
            return days
        for tenant, limits in budget.of(change.head.placement.tenant).items():
            key = tenant, booking.day
            days[key] = self.days.get(key, ZERO) + booking.change
            rules.check_total(limits, days[key], booking, now)
        return days

    def delete(self, runs: Mapping[str, int], now: float, dead: Dead) -> Deleted:
        for run, last_seq in runs.items():
            rules.check_deletable(self.find_run(run).head, last_seq, now, dead)
        deleted = [self.runs.pop(run) for run in runs]
        for cursor in self.cursors.values():
            cursor.positions = {run: seq for run, seq in cursor.positions.items() if run not in runs}
        unused = {
            digest.hex() for digest in _named_hashes(deleted) - _named_hashes(self.runs.values())
        } & self.texts.keys()
        sizes = [len(self.texts.pop(digest)) for digest in unused]
        return Deleted(len(deleted), len(sizes), sum(sizes))


def _named_hashes(runs: Iterable[HeldRun]) -> set[bytes]:
    return named_texts(row.body for held in runs for row in held.rows)


class MemoryReader(StoreReader):
    """A snapshot of a `MemoryStore`."""

    def __init__(self, store: MemoryStore, now: float) -> None:
        self._store, self.now = store, now

    def names(self, *, recorded: bool = False) -> list[str]:
        return [run for run, held in self._store.runs.items() if held.rows or not recorded]

    def head(self, run: str, *, asks: bool = False) -> RunHead:  # noqa: ARG002 -- they are at hand
        return self._store.find_run(run).head

    def part(self, head: RunHead, after: int) -> Part:
        """Implement `StoreReader.part`. Each record is treated as an append of its own."""
        stored = self._store.find_run(head.run).rows
        after = min(max(0, after), len(stored))
        start = Tip(stored[after - 1].seq, stored[after - 1].hash) if after else head.start
        return Part(start, [*stored[after:]], frozenset(row.seq for row in stored))

    def messages(self, run: str, after: int) -> list[InboxItem]:
        return self._store.find_run(run).posted[max(0, after) :]

    def text(self, digest: str) -> bytes | None:
        return self._store.texts.get(digest)

    def hosts(self) -> list[HostRow]:
        return [row for row in self._store.hosts.values() if row.until > self.now]

    def spending(self) -> dict[tuple[str, int], Amount]:
        return self._store.days


class MemoryCursors:
    """The methods of `runtime.journal.port.Cursors`, for the journal in memory."""

    _clock: Clock
    _store: MemoryStore
    _commit: Callable[[str, Callable[[], Any]], Awaitable[Any]]

    async def hold_cursor(
        self, name: str, owner: str, ttl: float, *, dead: Callable[[str], bool], skip: frozenset[str] = frozenset()
    ) -> bool:
        check_text(name, "name")
        check_text(owner, "owner")
        now, store = self._clock.now(), self._store

        def commit() -> bool:
            held = store.cursors.get(name)
            if held is None:
                runs = store.runs.items()
                passed = {run: item.head.tip.seq for run, item in runs if item.head.summary.status in skip}
                held = store.cursors[name] = MemoryCursor(positions=passed)
            if not may_hold(held.owner, held.until, owner, now, dead):
                return False
            held.owner, held.until = owner, now + ttl
            return True

        return bool(await self._commit("hold_cursor", commit))

    async def leave_cursor(self, name: str, owner: str) -> None:
        def commit() -> None:
            held = self._store.cursors.get(name)
            if held is not None and held.owner == owner:
                held.owner = None

        await self._commit("leave_cursor", commit)

    async def move_cursor(self, name: str, owner: str, positions: Mapping[str, int]) -> bool:
        def commit() -> bool:
            held = self._store.cursors.get(name)
            if held is None or held.owner != owner:
                return False
            for run, seq in positions.items():
                if run in self._store.runs:
                    last = self._store.runs[run].head.tip.seq
                    held.positions[run] = max(held.positions.get(run, 0), min(seq, last))
            return True

        return bool(await self._commit("move_cursor", commit))

    async def behind(self, name: str, limit: int = CURSOR_LIMIT, *, beyond: int = 0) -> list[Behind]:
        await trio.lowlevel.checkpoint()
        cursor = self._store.cursors.get(name) or MemoryCursor()
        rows = [
            Behind(number, run, item.head.kind, item.head.format, cursor.positions.get(run, 0), item.head.tip.seq)
            for number, (run, item) in enumerate(self._store.runs.items(), 1)
        ]
        return [row for row in rows if row.number > beyond and row.last_seq > row.position][:limit]

    async def tally(self) -> list[Tally]:
        await trio.lowlevel.checkpoint()
        now, tallies = self._clock.now(), dict[tuple[str, str], Tally]()
        for head in (held.head for held in self._store.runs.values()):
            key, due = (head.kind, head.summary.status), head.summary.due if head.tip.seq else None
            free = head.owner is None or head.end <= now
            undriven = head.updated if due is not None and due <= now and free else None
            old = tallies.get(key, Tally(*key, 0))
            tallies[key] = Tally(
                *key,
                old.runs + 1,
                _earlier_time(old.waiting_since, head.summary.waiting_since),
                _earlier_time(old.undriven_since, undriven),
            )
        return [tallies[key] for key in sorted(tallies)]


def _earlier_time(one: float | None, other: float | None) -> float | None:
    return min((time for time in (one, other) if time is not None), default=None)


Moment = Literal["before", "after"]

Fault = Callable[[str, Moment], None]
"""A function that is called before and after the commit of each operation. It gets the operation's name, such as
`append`, and the moment. The function may raise an error.
"""


@asynccontextmanager
async def open_memory(
    codecs: Codec[E] | Codecs,
    clock: Clock,
    *,
    store: MemoryStore | None = None,
    fault: Fault | None = None,
    budget: BudgetSource | None = None,
) -> AsyncIterator[Journal[E]]:
    """Open a journal in memory, on a new or a given store.

    `codecs` are the codecs for the kinds of runs that the journal can read.
    """
    by_kind = codecs_by_kind(codecs)
    kept, faults, allowed = store or MemoryStore(), fault or _no_fault, budget or HomeBudget()
    yield _MemoryJournal(by_kind, clock, kept, faults, budget=allowed)


def _no_fault(operation: str, moment: Moment) -> None:
    """Do not raise."""


class _MemoryJournal(Operations[E], MemoryCursors):
    def __init__(self, codecs: Codecs, clock: Clock, store: MemoryStore, fault: Fault, *, budget: BudgetSource) -> None:
        super().__init__(codecs, budget)
        self._clock, self._store, self._fault = clock, store, fault

    def now(self) -> float:
        return self._clock.now()

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        check_text(host, "host")
        check_text(owner, "owner")
        row = HostRow(host, owner, self._clock.now() + ttl, kinds)
        await self._commit("announce", lambda: self._store.hosts.update({host: row}))

    async def depart(self, host: str) -> None:
        await self._commit("depart", lambda: self._store.hosts.pop(host, None))

    async def version(self) -> int:
        await trio.lowlevel.checkpoint()
        return self._store.version

    async def _look(self, read: Callable[[StoreReader], T]) -> T:
        await trio.lowlevel.checkpoint()
        return read(MemoryReader(self._store, self._clock.now()))

    async def _write(self, work: RunOperation[T]) -> T:
        now = self._clock.now()
        return await self._commit(work.operation, lambda: self._store.carry_out(work, now, self._budget.current()))

    async def _delete(self, runs: Mapping[str, int], dead: Dead) -> Deleted:
        now = self._clock.now()
        return await self._commit("delete", lambda: self._store.delete(runs, now, dead))

    async def _commit(self, operation: str, commit: Callable[[], T]) -> T:
        # As with a disk, a write that is cancelled before the commit writes nothing. After the commit, the caller gets
        # the result.
        await trio.lowlevel.checkpoint()
        self._fault(operation, "before")
        result = commit()
        self._store.version += 1
        self._fault(operation, "after")
        await trio.lowlevel.cancel_shielded_checkpoint()
        return result
