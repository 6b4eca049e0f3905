"""The journal in Postgres: one database for several machines. Every append is durable before it returns.

One thread commits all writes in groups, and another thread reads. The transaction that writes also checks leases,
record numbers and budgets, under locks and by the server's clock. So the rules hold even if the clocks of the machines
differ.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from replan_server.postgres import reading, schema
from replan_server.postgres.address import DatabaseAddress
from replan_server.postgres.committing import RETRY_SECONDS, Committer, PostgresWriter, open_writer
from replan_server.postgres.connecting import ANSWER_SECONDS, Cursor, DatabaseLink, Time, explain
from replan_server.postgres.group import Alone
from replan_server.postgres.raw import delete_runs
from replan_server.postgres.reading import PostgresReader, retry_read
from replan_server.postgres.transaction import snapshot
from runtime.core.daily_budget import BudgetSource, HomeBudget
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec
from runtime.journal.operations import Operations
from runtime.journal.port import CURSOR_LIMIT, Behind, Codecs, Dead, Deleted, Formats, Journal, Tally, codecs_by_kind
from runtime.journal.raw import StoreReader
from runtime.journal.rules import RunOperation, check_deletable, may_hold
from runtime.journal.thread import ConnectionThread, open_thread
from runtime.journal.validation import check_text

T = TypeVar("T")

_HOLD = (
    "INSERT INTO replan.cursors VALUES (%s, %s, %s)"
    " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
)
_SKIP = "INSERT INTO replan.positions SELECT %s, id, last_seq FROM replan.runs WHERE status = ANY(%s)"
_MOVE = (
    "INSERT INTO replan.positions AS passed SELECT %s, id, least(%s, last_seq) FROM replan.runs WHERE run = %s"
    " ON CONFLICT (cursor, run) DO UPDATE SET seq = greatest(passed.seq, excluded.seq)"
)
_PASSED = "replan.runs r LEFT JOIN replan.positions p ON p.cursor = %s AND p.run = r.id"
_BEHIND = (
    "SELECT r.id, r.run, r.kind, r.format, coalesce(p.seq, 0), r.last_seq"
    f" FROM {_PASSED} WHERE r.id > %s AND r.last_seq > coalesce(p.seq, 0) ORDER BY r.id LIMIT %s"
)
_TALLY = (
    "SELECT kind, status, count(*), min(waiting_since),"
    " min(updated) FILTER (WHERE due <= %s AND (owner IS NULL OR lease_end <= %s))"
    " FROM replan.runs GROUP BY kind, status ORDER BY kind, status"
)


class PostgresCursors:
    """The part of the journal that implements `runtime.journal.port.Cursors`."""

    _run_alone: Callable[[Callable[[Cursor, float], T]], Awaitable[T]]
    _snapshot: Callable[[Callable[[Cursor, float], T]], Awaitable[T]]

    async def hold_cursor(
        self, name: str, owner: str, ttl: float, *, dead: Callable[[str], bool], skip: frozenset[str] = frozenset()
    ) -> bool:
        check_text(name, "name")
        check_text(owner, "owner")

        def work(cursor: Cursor, now: float) -> bool:
            # The row is made first, because only a row can be locked.
            create = "INSERT INTO replan.cursors VALUES (%s, NULL, 0) ON CONFLICT DO NOTHING"
            fresh = cursor.execute(create, (name,)).rowcount == 1
            lock = "SELECT owner, until FROM replan.cursors WHERE name = %s FOR UPDATE"
            for holder, until in cursor.execute(lock, (name,)).fetchall():
                if not may_hold(holder, until, owner, now, dead):
                    return False
            cursor.execute(_HOLD, (name, owner, now + ttl))
            if fresh and skip:
                cursor.execute(_SKIP, (name, sorted(skip)))
            return True

        return await self._run_alone(work)

    async def leave_cursor(self, name: str, owner: str) -> None:
        def work(cursor: Cursor, _: float) -> None:
            cursor.execute("UPDATE replan.cursors SET owner = NULL WHERE name = %s AND owner = %s", (name, owner))

        await self._run_alone(work)

    async def move_cursor(self, name: str, owner: str, positions: Mapping[str, int]) -> bool:
        def work(cursor: Cursor, _: float) -> bool:
            statement = "SELECT 1 FROM replan.cursors WHERE name = %s AND owner = %s FOR UPDATE"
            if not cursor.execute(statement, (name, owner)).fetchall():
                return False
            for run, seq in positions.items():
                cursor.execute(_MOVE, (name, seq, run))
            return True

        return await self._run_alone(work)

    async def behind(self, name: str, limit: int = CURSOR_LIMIT, *, beyond: int = 0) -> list[Behind]:
        def work(cursor: Cursor, _: float) -> list[Behind]:
            return [Behind(*row) for row in cursor.execute(_BEHIND, (name, beyond, limit)).fetchall()]

        return await self._snapshot(work)

    async def tally(self) -> list[Tally]:
        def work(cursor: Cursor, now: float) -> list[Tally]:
            return [Tally(*row) for row in cursor.execute(_TALLY, (now, now)).fetchall()]

        return await self._snapshot(work)


E = TypeVar("E")


@asynccontextmanager
async def open_postgres(
    address: DatabaseAddress,
    codecs: Codec[E] | Codecs,
    *,
    budget: BudgetSource | None = None,
    clock: Time | None = None,
    answer_seconds: float = ANSWER_SECONDS,
    retry_seconds: float = RETRY_SECONDS,
) -> AsyncIterator[Journal[E]]:
    """Open the journal in a database, and make its tables if they are missing.

    When the context ends, all requested writes are done, and no thread or connection is left open.

    `codecs` are the codecs of the kinds of runs that can be read; a single codec is the codec of `FIRST_KIND`. `budget`
    is the daily budget; None means no limit. `clock` replaces the server's clock, in tests. `answer_seconds` is how
    long to wait for an answer of the server before the connection is given up. `retry_seconds` is how long a change is
    tried again while the server cannot be reached, or other transactions block the change.

    Raises `JournalUnreachable`, `JournalUnreadable`, `JournalNewer`, `JournalDamaged`.
    """
    explained = partial(explain, address)
    link = partial(DatabaseLink, address, clock, answer_seconds)
    async with (
        open_thread("journal-reader", link, explained) as reading_,
        open_thread("journal-writer", link, explained) as writing,
    ):
        shared = await reading_.do(partial(_check_link, address))
        limits = budget or HomeBudget()
        async with open_writer(writing, Committer(limits, retry_seconds)) as writer:
            yield _PostgresJournal(
                codecs_by_kind(codecs),
                limits,
                writing=writer,
                reading=reading_,
                link=shared,
                retry_seconds=retry_seconds,
            )


def _check_link(address: DatabaseAddress, link: DatabaseLink) -> DatabaseLink:
    connection = link.connection()
    schema.ensure_tables(connection, address.place)
    with connection.cursor() as cursor:
        link.take_time(reading.server_now(cursor))
    return link


_ANNOUNCE = (
    "INSERT INTO replan.hosts (id, owner, until, kinds) VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO UPDATE"
    " SET owner = excluded.owner, until = excluded.until, kinds = excluded.kinds"
)


class _PostgresJournal(Operations[E], PostgresCursors):
    def __init__(
        self,
        codecs: Codecs,
        budget: BudgetSource,
        *,
        writing: PostgresWriter,
        reading: ConnectionThread[DatabaseLink],
        link: DatabaseLink,
        retry_seconds: float,
    ) -> None:
        super().__init__(codecs, budget)
        self._writing, self._reading, self._link = writing, reading, link
        self._retry_seconds = retry_seconds

    def now(self) -> float:
        return self._link.estimate()

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        self._check_text(host, "host")
        self._check_text(owner, "owner")
        drives = None if kinds is None else json.dumps(dict(kinds))

        def announced(cursor: Cursor, now: float) -> None:
            cursor.execute("DELETE FROM replan.hosts WHERE until <= %s", (now,))
            cursor.execute(_ANNOUNCE, (host, owner, now + ttl, drives))

        await self._run_alone(announced)

    async def depart(self, host: str) -> None:
        def departed(cursor: Cursor, _: float) -> None:
            cursor.execute("DELETE FROM replan.hosts WHERE id = %s", (host,))

        await self._run_alone(departed)

    async def version(self) -> int:
        def work(link: DatabaseLink) -> int:
            with link.connection().cursor() as cursor:
                return reading.version(cursor)

        return await self._reading.do(partial(retry_read, work, self._retry_seconds))

    async def _write(self, work: RunOperation[T]) -> T:
        if work.new is not None:  # A title is only shown, and the database takes no NUL in text.
            title = work.new.title.replace("\0", "\N{REPLACEMENT CHARACTER}")
            work = work._replace(new=work.new._replace(title=title))
        return await self._writing.carry_out(work)

    async def _delete(self, runs: Mapping[str, int], dead: Dead) -> Deleted:
        def delete(cursor: Cursor, now: float) -> Deleted:
            return delete_runs(cursor, runs, lambda head: check_deletable(head, runs[head.run], now, dead))

        return await self._run_alone(delete)

    async def _run_alone(self, work: Callable[[Cursor, float], T]) -> T:
        return await self._writing.carry_out(Alone(work))

    async def _look(self, read: Callable[[StoreReader], T]) -> T:
        return await self._snapshot(lambda cursor, now: read(PostgresReader(cursor, now)))

    async def _snapshot(self, work: Callable[[Cursor, float], T]) -> T:

        def in_one_snapshot(link: DatabaseLink) -> T:
            with snapshot(link) as (cursor, now):
                return work(cursor, now)

        return await self._reading.do(partial(retry_read, in_one_snapshot, self._retry_seconds))

    def _check_text(self, text: str, place: str) -> str:
        if "\0" in check_text(text, place):
            raise UsageProblem("the text has a NUL character, which Postgres cannot store", place=place)
        return text
