"""The journal in memory: no threads, no I/O, deterministic. For simulation and tests.

A `MemoryStore` holds what was committed and outlives the journals opened on it, as a disk outlives processes. A `Fault`
is called just before and just after the commit of every operation, and may raise there: a crash with nothing written,
or a crash with everything written and not reported.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Generic, Literal, TypeVar

import trio

from runtime.core.clock import Clock
from runtime.core.daily_budget import HOME, HomeBudget, book, day_of
from runtime.core.errors import HomeBudgetSpent, RunExists, RunNotFound, SequenceConflict
from runtime.core.events import Codec, Record
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from runtime.journal.chain import FIRST_EPOCH, Stored, Tip, decode, extend, genesis, records, verify
from runtime.journal.deletion import named_texts
from runtime.journal.holding import check_driver, check_free
from runtime.journal.kinds import (
    FIRST_FORMAT,
    FIRST_KIND,
    Codecs,
    Formats,
    check_drivable,
    codec_of,
    codecs_by_kind,
    drivable,
)
from runtime.journal.memory_cursors import MemoryCursors
from runtime.journal.memory_slots import MemorySlots
from runtime.journal.memory_store import HeldRun, MemoryStore, consumed_by, matches
from runtime.journal.port import (
    NEW,
    ORDINARY,
    Dead,
    Deleted,
    Due,
    Fact,
    HostRow,
    InboxItem,
    Journal,
    Placement,
    Posted,
    RunFilter,
    RunRow,
    nobody,
)
from runtime.journal.validation import Entry, check_new, check_summary, check_text, encode_facts

E = TypeVar("E")
T = TypeVar("T")

Moment = Literal["before", "after"]

Fault = Callable[[str, Moment], None]
"""Called with an operation's name (`append`, `claim`, ...) and the moment relative to its commit. May raise."""


@asynccontextmanager
async def open_memory(
    codecs: Codec[E] | Codecs,
    clock: Clock,
    *,
    store: MemoryStore | None = None,
    fault: Fault | None = None,
    budget: HomeBudget | None = None,
) -> AsyncIterator[Journal[E]]:
    """Open a journal in memory, on a new store or the one given; `codecs` are those of the kinds that it can read."""
    by_kind = codecs_by_kind(codecs)
    kept, faults, allowed = store or MemoryStore(), fault or _no_fault, budget or HomeBudget()
    yield _MemoryJournal(by_kind, clock, kept, faults, budget=allowed)


def _no_fault(operation: str, moment: Moment) -> None:
    """Let everything succeed."""


class _MemoryJournal(MemoryCursors, MemorySlots, Generic[E]):
    def __init__(self, codecs: Codecs, clock: Clock, store: MemoryStore, fault: Fault, *, budget: HomeBudget) -> None:
        self._codecs, self._clock, self._store, self._fault, self._budget = codecs, clock, store, fault, budget

    def now(self) -> float:
        return self._clock.now()

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
        check_new(run, title, kind, format, owner=owner, placement=placement)
        check_summary(summary)
        entries = encode_facts(codec_of(self._codecs, run, kind, format), facts) if facts else []
        now = self._clock.now()

        def commit() -> list[Stored]:
            if run in self._store.runs:
                raise RunExists(run)
            held = HeldRun(title, kind, format, now, now, Tip(0, genesis(kind, format)), summary)
            held.placement = placement
            if entries or owner is not None:
                held.epoch = FIRST_EPOCH
            if owner is not None:
                held.owner, held.lease_end = owner, now + ttl
            rows = self._extend(run, held, entries, summary=summary, now=now, overdraw=overdraw)
            self._store.runs[run] = held
            return rows

        return records(run, entries, await self._commit("create", commit))

    async def row(self, run: str) -> RunRow:
        await trio.lowlevel.checkpoint()
        return self._row(run, self._run(run), self._clock.now())

    async def runs(self, which: RunFilter) -> list[RunRow]:
        check_text(which.status or "", "status")
        check_text(which.title_start, "title")
        check_text(which.run_start, "run")
        await trio.lowlevel.checkpoint()
        now = self._clock.now()
        runs = [each for each in reversed(self._store.runs.items()) if matches(which, *each)]
        rows = [self._row(run, held, now) for run, held in runs[: max(0, which.limit)]]
        return rows if which.asks else [replace(row, summary=replace(row.summary, asks=b"")) for row in rows]

    async def claim(
        self, run: str, owner: str, ttl: float, *, dead: Dead = nobody, kinds: Formats | None = None
    ) -> int:
        check_text(owner, "owner")
        now = self._clock.now()

        def commit() -> int:
            held = self._run(run)
            check_drivable(kinds, run, held.kind, held.format)
            check_free(run, held.owner, held.lease_end, now, dead)
            held.owner, held.lease_end, held.epoch = owner, now + ttl, held.epoch + 1
            return held.epoch

        return await self._commit("claim", commit)

    async def renew(self, run: str, epoch: int, ttl: float) -> None:
        now = self._clock.now()

        def commit() -> None:
            self._driven(run, epoch).lease_end = now + ttl

        await self._commit("renew", commit)

    async def release(self, run: str, epoch: int) -> None:
        def commit() -> None:
            held = self._run(run)
            if held.epoch == epoch:
                held.owner = None

        await self._commit("release", commit)

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
        check_summary(summary)
        entries = encode_facts(self._codec(run, self._run(run)), facts) if facts else []
        now = self._clock.now()

        def commit() -> list[Stored]:
            held = self._driven(run, epoch)
            if held.tip.seq != after:
                raise SequenceConflict(run, after, held.tip.seq)
            return self._extend(run, held, entries, summary=summary, now=now, overdraw=overdraw)

        return records(run, entries, await self._commit("append", commit))

    async def read(self, run: str, after: int = 0) -> list[Record[E]]:
        await trio.lowlevel.checkpoint()
        held = self._run(run)
        rows, end = held.rows, held.tip
        after = min(max(0, after), end.seq)
        start = Tip(after, rows[after - 1].hash) if after > 0 else held.first
        rows = rows[start.seq :]
        verify(run, start, rows, end)
        return decode(self._codec(run, held), run, rows, self._store.texts.get)

    async def post(self, run: str, key: str, body: str) -> Posted:
        check_text(key, "key")
        check_text(body, "body")
        now = self._clock.now()

        def commit() -> Posted:
            posted = self._run(run).posted
            for item in posted:
                if item.key == key:
                    return Posted("duplicate" if item.body == body else "conflict", item.inbox, item.body)
            posted.append(InboxItem(len(posted) + 1, key, body, now))
            return Posted("accepted", len(posted), body)

        return await self._commit("post", commit)

    async def inbox(self, run: str, after: int = 0) -> list[InboxItem]:
        await trio.lowlevel.checkpoint()
        return self._run(run).posted[max(0, after) :]

    async def delete(self, runs: Mapping[str, int], *, dead: Dead = nobody) -> Deleted:
        now = self._clock.now()

        def commit() -> Deleted:
            for run, last_seq in runs.items():
                held = self._run(run)
                check_free(run, held.owner, held.lease_end, now, dead)
                if held.tip.seq != last_seq:
                    raise SequenceConflict(run, last_seq, held.tip.seq)
            deleted = [self._store.runs.pop(run) for run in runs]
            for cursor in self._store.cursors.values():
                cursor.positions = {run: seq for run, seq in cursor.positions.items() if run not in runs}
            named = named_texts(row.body for held in deleted for row in held.rows)
            used = named_texts(row.body for held in self._store.runs.values() for row in held.rows)
            unused = {digest.hex() for digest in named - used} & self._store.texts.keys()
            sizes = [len(self._store.texts.pop(digest)) for digest in unused]
            return Deleted(len(deleted), len(sizes), sum(sizes))

        return await self._commit("delete", commit)

    async def due(self, limit: int, *, dead: Dead = nobody, kinds: Formats | None = None) -> Due:
        await trio.lowlevel.checkpoint()
        now, free, unread, later = self._clock.now(), [], set(), []
        living = {held.owner for held in self._store.runs.values() if held.owner is not None and held.lease_end > now}
        living = {owner for owner in living if not dead(owner)}
        for run, held in self._store.runs.items():
            if not drivable(kinds, held.kind, held.format):
                continue
            at = held.summary.due if held.rows else None
            if at is not None and at > now:
                later.append(at)
            if held.owner in living and held.lease_end > now:
                unread |= {run} if held.unread else set()
            elif held.rows and ((at is not None and at <= now) or (held.unread and held.summary.status != "parked")):
                free.append(run)
        free.sort(key=lambda run: -self._store.runs[run].placement.priority)
        return Due(tuple(free[: max(0, limit)]), frozenset(unread), min(later, default=None))

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        check_text(host, "host")
        check_text(owner, "owner")
        row = HostRow(host, owner, self._clock.now() + ttl, kinds)
        await self._commit("announce", lambda: self._store.hosts.update({host: row}))

    async def depart(self, host: str) -> None:
        await self._commit("depart", lambda: self._store.hosts.pop(host, None))

    async def hosts(self, *, dead: Dead = nobody) -> list[HostRow]:
        await trio.lowlevel.checkpoint()
        now = self._clock.now()
        return [row for row in self._store.hosts.values() if row.until > now and not dead(row.owner)]

    async def spent_today(self, tenant: str = HOME) -> Amount:
        await trio.lowlevel.checkpoint()
        return self._store.days.get((tenant, day_of(self._clock.now())), ZERO)

    async def version(self) -> int:
        await trio.lowlevel.checkpoint()
        return self._store.version

    async def _commit(self, operation: str, commit: Callable[[], T]) -> T:
        # As with a disk: cancelled before the commit, nothing is written; afterwards the caller gets the result.
        await trio.lowlevel.checkpoint()
        self._fault(operation, "before")
        result = commit()
        self._store.version += 1
        self._fault(operation, "after")
        await trio.lowlevel.cancel_shielded_checkpoint()
        return result

    def _extend(
        self, run: str, held: HeldRun, entries: Sequence[Entry[E]], *, summary: Summary, now: float, overdraw: bool
    ) -> list[Stored]:
        """Add the entries to a run, under its epoch, or raise before anything has changed."""
        consumed = consumed_by(run, held, entries)
        self._book(held, summary, now, overdraw=overdraw)
        held.consumed |= consumed
        rows = extend(run, held.tip, held.epoch, now, entries)
        for entry in entries:
            self._store.texts.update(entry.texts)
        held.rows += rows
        held.updated, held.summary = now, summary
        return rows

    def _book(self, held: HeldRun, summary: Summary, now: float, *, overdraw: bool) -> None:
        account, change = book(held.account, summary.committed, summary.reserved, now)
        days: dict[tuple[str, int], Amount] = {}
        for tenant, budget in self._budget.of(held.placement.tenant).items():
            total = days[tenant, account.day] = self._store.days.get((tenant, account.day), ZERO) + change
            if not overdraw and (limit := budget.shortfall(total, change)):
                raise HomeBudgetSpent(limit, budget.retry_at(now), budget)
        held.account = account
        self._store.days |= days

    def _codec(self, run: str, held: HeldRun) -> Codec[E]:
        return codec_of(self._codecs, run, held.kind, held.format)

    def _run(self, run: str) -> HeldRun:
        try:
            return self._store.runs[run]
        except KeyError:
            raise RunNotFound(run) from None

    def _driven(self, run: str, epoch: int) -> HeldRun:
        held = self._run(run)
        check_driver(run, held.owner, held.epoch, epoch)
        return held

    def _row(self, run: str, held: HeldRun, now: float) -> RunRow:
        owner = held.owner if held.lease_end > now else None
        return RunRow(
            run,
            held.title,
            held.created,
            held.updated,
            len(held.rows),
            held.summary,
            owner,
            held.epoch,
            held.unread,
            held.kind,
            held.format,
            held.placement,
        )


__all__ = ["Fault", "MemoryStore", "Moment", "open_memory"]
