"""The journal in Postgres: one database for several machines, every append durable before it returns.

One thread commits all writes, in groups, and another thread reads. Leases, places and budgets are checked under locks
in the transaction that writes, by the server's clock. So the rules hold between machines, whatever their clocks say.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Generic, NoReturn, TypeVar

from runtime.core.daily_budget import HOME, HomeBudget, day_of
from runtime.core.errors import SequenceConflict, UsageProblem
from runtime.core.events import Codec, Record
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.chain import FIRST_EPOCH, Stored, records
from runtime.journal.holding import check_driver, check_free, check_here
from runtime.journal.kinds import FIRST_FORMAT, FIRST_KIND, Codecs, Formats, check_drivable, codec_of, codecs_by_kind
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
from runtime.journal.postgres import reading, schema
from runtime.journal.postgres.address import Address
from runtime.journal.postgres.batch import Batch
from runtime.journal.postgres.committing import RETRY_SECONDS, Committer
from runtime.journal.postgres.connecting import ANSWER_SECONDS, Cursor, Link, Time
from runtime.journal.postgres.cursors import PostgresCursors
from runtime.journal.postgres.deletion import delete_runs
from runtime.journal.postgres.failures import explain
from runtime.journal.postgres.group import Change, Group, NewRun, Work
from runtime.journal.postgres.retrying import retried
from runtime.journal.postgres.slots import PostgresSlots
from runtime.journal.postgres.transaction import snapshot
from runtime.journal.postgres.writer import Writer, open_writer
from runtime.journal.thread import ConnectionThread, open_thread
from runtime.journal.validation import check_known_run, check_new, check_summary, check_text, encode_facts

E = TypeVar("E")
T = TypeVar("T")


@asynccontextmanager
async def open_postgres(
    address: Address,
    codecs: Codec[E] | Codecs,
    *,
    budget: HomeBudget | None = None,
    clock: Time | None = None,
    answer_seconds: float = ANSWER_SECONDS,
    retry_seconds: float = RETRY_SECONDS,
) -> AsyncIterator[Journal[E]]:
    """Open the journal in a database, and make its tables if they are missing.

    When the context ends, everything that was handed in is written, and no thread or connection is left open.

    Args:
        address: the database.
        codecs: the codecs of the kinds of runs that can be read; a single codec is that of `FIRST_KIND`.
        budget: the daily budget; None is no limit.
        clock: takes the place of the server's clock, in tests.
        answer_seconds: how long to wait for an answer of the server before the connection is given up.
        retry_seconds: how long a change is tried again while the server cannot be reached or others are in the way.

    Raises `JournalUnreachable`, `JournalUnreadable`, `JournalNewer`, `JournalDamaged`.
    """
    explained = partial(explain, address)
    link = partial(Link, address, clock, answer_seconds)
    async with (
        open_thread("journal-reader", link, explained) as reading_,
        open_thread("journal-writer", link, explained) as writing,
    ):
        shared = await reading_.do(partial(_checked, address))
        async with open_writer(writing, Committer(budget or HomeBudget(), retry_seconds)) as writer:
            yield _PostgresJournal(
                codecs_by_kind(codecs),
                writing=writer,
                reading=reading_,
                link=shared,
                retry_seconds=retry_seconds,
            )


def _checked(address: Address, link: Link) -> Link:
    connection = link.connection()
    schema.check(connection, address.place)
    with connection.cursor() as cursor:
        link.told(reading.server_now(cursor))
    return link


class _PostgresJournal(PostgresCursors, PostgresSlots, Generic[E]):
    def __init__(
        self,
        codecs: Codecs,
        *,
        writing: Writer,
        reading: ConnectionThread[Link],
        link: Link,
        retry_seconds: float,
    ) -> None:
        self._codecs, self._writing, self._reading, self._link = codecs, writing, reading, link
        self._retry_seconds = retry_seconds
        self._kinds: dict[str, tuple[str, int]] = {}  # Of the runs that are claimed here; they never change.

    def now(self) -> float:
        return self._link.estimate()

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
        _check_columns(summary, owner or "")
        entries = encode_facts(codec_of(self._codecs, run, kind, format), facts) if facts else []

        def decide(group: Group) -> list[Stored]:
            end = 0.0 if owner is None else group.now + ttl
            epoch = FIRST_EPOCH if entries or owner is not None else 0
            row = group.admit(run)._replace(owner=owner, end=end, epoch=epoch)
            rows = group.extend(row, entries, summary, overdraw=overdraw)
            group.wakes |= owner is None and summary.due is not None
            return rows

        # A title is only shown, and the database takes no NUL in text.
        new = NewRun(run, title.replace("\0", "\N{REPLACEMENT CHARACTER}"), kind, format, placement)
        rows = await self._writing.do(Work(decide, (run,), new=new, entries=entries))
        if owner is not None:
            self._kinds[run] = kind, format
        return records(run, entries, rows)

    async def row(self, run: str) -> RunRow:
        check_known_run(run)
        return await self._look(lambda cursor, now: reading.run_row(cursor, run, now, last=True))

    async def runs(self, which: RunFilter) -> list[RunRow]:
        _check_column(which.status or "", "status")
        _check_column(which.title_start, "title")
        _check_column(which.run_start, "run")
        return await self._look(lambda cursor, now: reading.run_rows(cursor, which, now))

    async def claim(
        self, run: str, owner: str, ttl: float, *, dead: Dead = nobody, kinds: Formats | None = None
    ) -> int:
        check_known_run(run)
        _check_column(owner, "owner")

        def decide(group: Group) -> tuple[str, int, int]:
            held = group.held(run)
            check_drivable(kinds, run, held.kind, held.format)
            check_free(run, held.owner, held.end, group.now, dead)
            group.put(held._replace(owner=owner, end=group.now + ttl, epoch=held.epoch + 1))
            return held.kind, held.format, held.epoch + 1

        kind, format, epoch = await self._writing.do(Work(decide, (run,)))
        self._kinds[run] = kind, format
        return epoch

    async def renew(self, run: str, epoch: int, ttl: float) -> None:
        check_known_run(run)

        def decide(group: Group) -> None:
            held = group.held(run)
            check_driver(run, held.owner, held.epoch, epoch)
            group.put(held._replace(end=group.now + ttl))

        await self._writing.do(Work(decide, (run,)))

    async def release(self, run: str, epoch: int) -> None:
        check_known_run(run)

        def decide(group: Group) -> None:
            held = group.held(run)
            if held.epoch == epoch and held.owner is not None:
                group.put(held._replace(owner=None))
                group.wakes |= held.summary.due is not None or held.unread

        await self._writing.do(Work(decide, (run,)))
        self._kinds.pop(run, None)

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
        check_known_run(run)
        _check_columns(summary, "")
        entries = encode_facts(await self._codec(run), facts) if facts else []

        def decide(group: Group) -> list[Stored]:
            held = group.held(run)
            check_driver(run, held.owner, held.epoch, epoch)
            if held.tip.seq != after:
                raise SequenceConflict(run, after, held.tip.seq)
            return group.extend(held, entries, summary, overdraw=overdraw)

        return records(run, entries, await self._writing.do(Work(decide, (run,), entries=entries)))

    async def read(self, run: str, after: int = 0) -> list[Record[E]]:
        check_known_run(run)
        return await self._look(lambda cursor, _: reading.records_after(cursor, self._codecs, run, after))

    async def post(self, run: str, key: str, body: str) -> Posted:
        check_known_run(run)
        check_text(key, "key")
        check_text(body, "body")

        def decide(group: Group) -> Posted:
            held = group.held(run)
            check_here(run, held.owner)
            item = group.messages.get((held.id, key))
            if item is not None:
                return Posted("duplicate" if item.body == body else "conflict", item.inbox, item.body)
            new = InboxItem(held.last_posted + 1, key, body, group.now)
            group.messages[held.id, key] = new
            group.posted.append((held.id, run, new))
            group.put(held._replace(last_posted=new.inbox))
            group.wakes = True
            return Posted("accepted", new.inbox, body)

        return await self._writing.do(Work(decide, (run,), key=key))

    async def inbox(self, run: str, after: int = 0) -> list[InboxItem]:
        check_known_run(run)
        return await self._look(lambda cursor, _: reading.messages_after(cursor, run, after, last=True))

    async def delete(self, runs: Mapping[str, int], *, dead: Dead = nobody) -> Deleted:
        for run in runs:
            check_known_run(run)

        return await self._alone(lambda cursor, now: delete_runs(cursor, runs, now, dead))

    async def due(self, limit: int, *, dead: Dead = nobody, kinds: Formats | None = None) -> Due:
        return await self._look(lambda cursor, now: reading.due(cursor, limit, now, dead, kinds))

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        _check_column(host, "host")
        _check_column(owner, "owner")

        def decide(group: Group) -> None:
            group.statements.append(_announced(HostRow(host, owner, group.now + ttl, kinds), group.now))

        await self._writing.do(Work(decide))

    async def depart(self, host: str) -> None:
        def decide(group: Group) -> None:
            group.statements.append(_departed(host))

        await self._writing.do(Work(decide))

    async def hosts(self, *, dead: Dead = nobody) -> list[HostRow]:
        rows = await self._look(reading.present)
        return [row for row in rows if not dead(row.owner)]

    async def spent_today(self, tenant: str = HOME) -> Amount:
        return await self._look(lambda cursor, now: reading.spending(cursor, tenant, day_of(now)))

    async def version(self) -> int:
        def work(link: Link) -> int:
            with link.connection().cursor() as cursor:
                return reading.version(cursor)

        return await self._reading.do(partial(retried, work, self._retry_seconds))

    async def _codec(self, run: str) -> Codec[E]:
        """Return the codec that a run's events are written with. Raises `RunNotFound`, `KindUnknown`."""
        kind = self._kinds.get(run)
        if kind is None:
            row = await self.row(run)
            kind = row.kind, row.format
        return codec_of(self._codecs, run, *kind)

    async def _alone(self, work: Callable[[Cursor, float], T]) -> T:
        return await self._writing.do(Work(_undecided, alone=work))

    async def _look(self, work: Callable[[Cursor, float], T]) -> T:
        """Run a function with a cursor and the time on one snapshot of the database."""

        def in_one_snapshot(link: Link) -> T:
            with snapshot(link) as (cursor, now):
                return work(cursor, now)

        return await self._reading.do(partial(retried, in_one_snapshot, self._retry_seconds))


def _undecided(_: Group) -> NoReturn:
    raise AssertionError("a job of its own does not decide in a group")


_HOST = ("id", "owner", "until", "kinds")


def _announced(host: HostRow, now: float) -> Change:
    """Return the statements that enter a host as present, and delete those whose presence has ended."""
    kinds = None if host.kinds is None else json.dumps(dict(host.kinds))

    def change(batch: Batch) -> None:
        batch.add("DELETE FROM replan.hosts WHERE until <= %s", [now])
        statement = (
            f"INSERT INTO replan.hosts ({', '.join(_HOST)}) VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO UPDATE"
            f" SET {', '.join(f'{name} = excluded.{name}' for name in _HOST)}"
        )
        batch.add(statement, [host.host, host.owner, host.until, kinds])

    return change


def _departed(host: str) -> Change:
    return lambda batch: batch.add("DELETE FROM replan.hosts WHERE id = %s", [host])


def _check_columns(summary: Summary, owner: str) -> None:
    check_summary(summary)
    for text, place in ((summary.status, "status"), (summary.detail, "detail"), (owner, "owner")):
        _check_column(text, place)


def _check_column(text: str, place: str) -> str:
    """Return a text for a column of text. Raises `UsageProblem` if it cannot be written there."""
    if "\0" in check_text(text, place):
        raise UsageProblem("the text has a NUL character, which Postgres does not take", place=place)
    return text
