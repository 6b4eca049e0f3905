"""The journal in Postgres: one database for several machines, every append durable before it returns.

One thread commits all writes, in groups, and another thread reads. Leases, places and budgets are checked under locks
in the transaction that writes, by the server's clock. So the rules hold between machines, whatever their clocks say.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec
from runtime.journal.kinds import Codecs, Formats, codecs_by_kind
from runtime.journal.operations import Operations
from runtime.journal.port import Dead, Deleted, Journal
from runtime.journal.postgres import reading, schema
from runtime.journal.postgres.address import Address
from runtime.journal.postgres.committing import RETRY_SECONDS, Committer, Writer, open_writer
from runtime.journal.postgres.connecting import ANSWER_SECONDS, Cursor, Link, Time
from runtime.journal.postgres.cursors import PostgresCursors
from runtime.journal.postgres.failures import explain
from runtime.journal.postgres.group import Alone
from runtime.journal.postgres.raw import delete_runs
from runtime.journal.postgres.reading import PostgresReader, retried
from runtime.journal.postgres.slots import PostgresSlots
from runtime.journal.postgres.transaction import snapshot
from runtime.journal.raw import Reader
from runtime.journal.rules import Work
from runtime.journal.thread import ConnectionThread, open_thread
from runtime.journal.validation import check_text

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


_ANNOUNCE = (
    "INSERT INTO replan.hosts (id, owner, until, kinds) VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO UPDATE"
    " SET owner = excluded.owner, until = excluded.until, kinds = excluded.kinds"
)


class _PostgresJournal(Operations[E], PostgresCursors, PostgresSlots):
    def __init__(
        self,
        codecs: Codecs,
        *,
        writing: Writer,
        reading: ConnectionThread[Link],
        link: Link,
        retry_seconds: float,
    ) -> None:
        super().__init__(codecs)
        self._writing, self._reading, self._link = writing, reading, link
        self._retry_seconds = retry_seconds

    def now(self) -> float:
        return self._link.estimate()

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        self._checked(host, "host")
        self._checked(owner, "owner")
        drives = None if kinds is None else json.dumps(dict(kinds))

        def announced(cursor: Cursor, now: float) -> None:
            cursor.execute("DELETE FROM replan.hosts WHERE until <= %s", (now,))
            cursor.execute(_ANNOUNCE, (host, owner, now + ttl, drives))

        await self._alone(announced)

    async def depart(self, host: str) -> None:
        def departed(cursor: Cursor, _: float) -> None:
            cursor.execute("DELETE FROM replan.hosts WHERE id = %s", (host,))

        await self._alone(departed)

    async def version(self) -> int:
        def work(link: Link) -> int:
            with link.connection().cursor() as cursor:
                return reading.version(cursor)

        return await self._reading.do(partial(retried, work, self._retry_seconds))

    async def _write(self, work: Work[T]) -> T:
        if work.new is not None:  # A title is only shown, and the database takes no NUL in text.
            title = work.new.title.replace("\0", "\N{REPLACEMENT CHARACTER}")
            work = work._replace(new=work.new._replace(title=title))
        return await self._writing.carry_out(work)

    async def _delete(self, runs: Mapping[str, int], dead: Dead) -> Deleted:
        return await self._alone(lambda cursor, now: delete_runs(cursor, runs, now, dead))

    async def _alone(self, work: Callable[[Cursor, float], T]) -> T:
        return await self._writing.carry_out(Alone(work))

    async def _look(self, read: Callable[[Reader], T]) -> T:
        return await self._snapshot(lambda cursor, now: read(PostgresReader(cursor, now)))

    async def _snapshot(self, work: Callable[[Cursor, float], T]) -> T:
        """Run a function with a cursor and the time on one snapshot of the database."""

        def in_one_snapshot(link: Link) -> T:
            with snapshot(link) as (cursor, now):
                return work(cursor, now)

        return await self._reading.do(partial(retried, in_one_snapshot, self._retry_seconds))

    def _checked(self, text: str, place: str) -> str:
        if "\0" in check_text(text, place):
            raise UsageProblem("the text has a NUL character, which Postgres does not take", place=place)
        return text
