"""The journal in SQLite, which is the default. Several processes can use the same file.

Every append is durable before it returns.

In each process, one thread commits all writes in groups, and another thread reads. A third connection, on trio's
thread, only checks whether anything was committed. Leases and record numbers are checked in the transaction that
writes, so the checks also hold if several processes write.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw
import trio

from runtime.core.clock import Clock
from runtime.core.daily_budget import BudgetSource, HomeBudget
from runtime.core.errors import JournalDamaged
from runtime.core.events import Codec
from runtime.journal import folder
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
    Journal,
    Tally,
    codecs_by_kind,
)
from runtime.journal.raw import StoreReader
from runtime.journal.rules import Change, RunOperation, check_deletable, may_hold
from runtime.journal.sqlite import anchors, schema, writing
from runtime.journal.sqlite.anchors import Anchors, open_anchors
from runtime.journal.sqlite.raw import delete_runs, survey
from runtime.journal.sqlite.reading import in_one_snapshot
from runtime.journal.sqlite.rows import SqliteReader
from runtime.journal.sqlite.schema import explain
from runtime.journal.sqlite.writer import SqliteWriter, open_writer
from runtime.journal.thread import GROUP_MAX, ConnectionThread, Explain, open_thread
from runtime.journal.validation import check_text

_HOLD = (
    "INSERT INTO cursors VALUES (?, ?, ?)"
    " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
)
_PASSED = "runs r LEFT JOIN positions p ON p.cursor = ? AND p.run = r.id"
_BEHIND = (
    "SELECT r.id, r.run, r.kind, r.format, coalesce(p.seq, 0), r.last_seq"  # noqa: S608 -- names of our own
    f" FROM {_PASSED} WHERE r.id > ? AND r.last_seq > coalesce(p.seq, 0) ORDER BY r.id LIMIT ?"
)
_MOVE = (
    "INSERT INTO positions SELECT ?, id, min(?, last_seq) FROM runs WHERE run = ?"
    " ON CONFLICT (cursor, run) DO UPDATE SET seq = max(seq, excluded.seq)"
)
_UNDRIVEN = "CASE WHEN a.at <= ? AND (owner IS NULL OR lease_end <= ?) THEN updated END"
_TALLY = (
    f"SELECT kind, status, count(*), min(waiting_since), min({_UNDRIVEN})"  # noqa: S608 -- names of our own
    " FROM runs r LEFT JOIN agenda a ON a.run = r.id GROUP BY kind, status ORDER BY kind, status"
)


class SqliteCursors:
    """The methods of `runtime.journal.port.Cursors`, for SQLite."""

    _clock: Clock
    _writing: SqliteWriter
    _reading: ConnectionThread[apsw.Connection]

    async def hold_cursor(
        self, name: str, owner: str, ttl: float, *, dead: Callable[[str], bool], skip: frozenset[str] = frozenset()
    ) -> bool:
        check_text(name, "name")
        check_text(owner, "owner")
        now = self._clock.now()

        def work(connection: apsw.Connection) -> bool:
            held = [*connection.execute("SELECT owner, until FROM cursors WHERE name = ?", (name,))]
            for holder, until in held:
                if not may_hold(holder, until, owner, now, dead):
                    return False
            connection.execute(_HOLD, (name, owner, now + ttl))
            for status in sorted(skip) if not held else ():
                passed = "INSERT INTO positions SELECT ?, id, last_seq FROM runs WHERE status = ?"
                connection.execute(passed, (name, status))
            return True

        return await self._writing.do(work)

    async def leave_cursor(self, name: str, owner: str) -> None:
        statement = "UPDATE cursors SET owner = NULL WHERE name = ? AND owner = ?"

        def work(connection: apsw.Connection) -> None:
            connection.execute(statement, (name, owner))

        await self._writing.do(work)

    async def move_cursor(self, name: str, owner: str, positions: Mapping[str, int]) -> bool:
        def work(connection: apsw.Connection) -> bool:
            if not [*connection.execute("SELECT 1 FROM cursors WHERE name = ? AND owner = ?", (name, owner))]:
                return False
            for run, seq in positions.items():
                connection.execute(_MOVE, (name, seq, run))
            return True

        return await self._writing.do(work)

    async def behind(self, name: str, limit: int = CURSOR_LIMIT, *, beyond: int = 0) -> list[Behind]:
        def work(connection: apsw.Connection) -> list[Behind]:
            return [Behind(*row) for row in connection.execute(_BEHIND, (name, beyond, limit))]

        return await self._reading.do(work)

    async def tally(self) -> list[Tally]:
        now = self._clock.now()

        def work(connection: apsw.Connection) -> list[Tally]:
            return [Tally(*row) for row in connection.execute(_TALLY, (now, now))]

        return await self._reading.do(work)


E = TypeVar("E")
T = TypeVar("T")


@asynccontextmanager
async def open_sqlite(
    path: Path,
    codecs: Codec[E] | Codecs,
    clock: Clock,
    *,
    vfs: str | None = None,
    busy_seconds: float = 10.0,
    budget: BudgetSource | None = None,
    use_another: str = folder.USE_ANOTHER,
) -> AsyncIterator[Journal[E]]:
    """Open the journal in a file. A missing file (0600) and a missing folder (0700) are made.

    At the end of the `with` block, the journal finishes all its writes, and closes all threads and files. A write
    raises `JournalMoved` if the open file is no longer the file at the path.

    `codecs` are the codecs of the kinds of runs that can be read; a single codec is that of `FIRST_KIND`. `clock` is
    the journal's clock. `vfs` is the name of a file system that is registered with APSW. With `vfs`, folders and modes
    are not checked. `busy_seconds` is the time to wait for another process that is writing. `budget` is the daily
    budget; None means no limit. `use_another` is the text with which error messages say how to choose another folder.

    Raises `JournalDamaged`, `JournalNewer`, `JournalUnreadable`, `StorageFull`, and `UsageProblem` for a folder that is
    not safe or cannot be written.
    """
    if vfs is None:
        folder.prepare_folder(path.parent, use_another)
        anchors.check_not_lost(path)
        folder.prepare_file(path, use_another)
    check = folder.check_in_place(path) if vfs is None else _skip_check
    anchored = open_anchors(path) if vfs is None else nullcontext(Anchors())
    explained = partial(explain, path, use_another)
    writer = partial(schema.open_writer, path, vfs, busy_seconds)
    reader = partial(schema.open_reader, path, vfs, busy_seconds)
    watcher = partial(schema.open_reader, path, vfs, 0.0)
    async with (
        open_writer(
            "journal-writer",
            writer,
            explained,
            busy_seconds=busy_seconds,
            group_max=GROUP_MAX,
            begun=partial(schema.check_unchanged, path=path),
            check=check,
        ) as writing,
        open_thread("journal-reader", reader, explained) as reading,
    ):
        # The watcher never waits, so trio's thread uses it. Opening it may read the disk, so another thread opens it.
        with closing(await reading.do(lambda _: watcher())) as watching:
            allowed = budget or HomeBudget()
            with anchored as noted:
                yield _SqliteJournal(
                    codecs_by_kind(codecs),
                    clock,
                    explained,
                    allowed,
                    path=path,
                    writing=writing,
                    reading=reading,
                    watching=watching,
                    noted=noted,
                )


def _skip_check() -> None:
    """Check nothing.

    This replaces `check_in_place` if a test uses its own file system (`vfs`), whose paths are not on the disk.
    """


class _SqliteJournal(Operations[E], SqliteCursors):
    def __init__(
        self,
        codecs: Codecs,
        clock: Clock,
        explain: Explain,
        budget: BudgetSource,
        *,
        path: Path,
        writing: SqliteWriter,
        reading: ConnectionThread[apsw.Connection],
        watching: apsw.Connection,
        noted: Anchors,
    ) -> None:
        super().__init__(codecs, budget)
        self._clock, self._explain, self._path = clock, explain, path
        self._writing, self._reading, self._watching = writing, reading, watching
        self._anchors, self._lost = noted, set[str]() if noted.count == 0 else None
        self._version = 0

    def now(self) -> float:
        return self._clock.now()

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        check_text(host, "host")
        check_text(owner, "owner")
        now = self._clock.now()
        row = HostRow(host, owner, now + ttl, kinds)
        await self._writing.do(lambda connection: writing.announce(connection, row, now))

    async def depart(self, host: str) -> None:
        await self._writing.do(lambda connection: writing.depart(connection, host))

    async def version(self) -> int:
        await trio.lowlevel.checkpoint()
        try:
            self._version = self._watching.pragma("data_version")
        except apsw.BusyError:
            # Another process is repairing the write-ahead log after a crash; the next poll will succeed.
            return self._version
        except apsw.Error as error:
            raise self._explain(error) from error
        return self._version

    async def _write(self, work: RunOperation[T]) -> T:
        now = self._clock.now()

        def carried_out(connection: apsw.Connection) -> Change[T]:
            if work.new is not None:
                self._check_new(connection, work.run)
            return writing.carry_out(connection, work, now, self._budget.current(), self._anchors)

        change = await self._writing.do(carried_out)
        if change.head is not None and change.records:
            self._anchors.note(change.head.id, work.run, change.head.tip)
        if change.head is not None and change.posted is not None:
            self._anchors.note_message(change.head.id, change.posted.inbox)
        return change.result

    def _check_new(self, connection: apsw.Connection, run: str) -> None:
        """Raise `JournalDamaged` if a run with this id was lost, because a new run would use its request ids again."""
        if self._lost is None:
            numbers = {number for (number,) in connection.execute("SELECT id FROM runs")}
            self._lost = {anchor.run for anchor in self._anchors.without(numbers).values()}
        if run in self._lost:
            raise JournalDamaged(f"run {run!r}", "the run was in the journal, and all of its records are missing")

    async def _delete(self, runs: Mapping[str, int], dead: Dead) -> Deleted:
        surveyed = await self._reading.do(partial(in_one_snapshot, self._path, partial(survey, runs=runs)))
        now = self._clock.now()

        def check(head: RunHead) -> None:
            check_deletable(head, runs[head.run], now, dead)

        return await self._writing.do(
            lambda connection: delete_runs(connection, runs, check, surveyed, anchors=self._anchors)
        )

    async def _look(self, read: Callable[[StoreReader], T]) -> T:
        now = self._clock.now()

        def look(connection: apsw.Connection) -> T:
            return in_one_snapshot(self._path, lambda _: read(SqliteReader(connection, now)), connection)

        return await self._reading.do(look)

    async def _check_end(self, head: RunHead) -> None:
        anchor = self._anchors.get(head.id, head.run)
        if anchors.is_ahead(anchor, head.tip):
            # The driver may have written more since then. So the journal now has at least what the anchor has.
            anchors.check(head.run, anchor, (await self._look(lambda reader: reader.head(head.run))).tip)
