"""The journal in SQLite: the default. One file, several processes, every append durable before it returns.

One thread commits all writes, in groups, and another thread reads. A third connection, on trio's thread, only asks
whether anything was committed. Leases and places are checked inside the transaction that writes, so the rules hold
between processes too.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import apsw
import trio

from runtime.core.clock import Clock
from runtime.core.daily_budget import HOME, Account, HomeBudget, day_of
from runtime.core.errors import JournalDamaged, SequenceConflict
from runtime.core.events import Codec, Record
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal import folder
from runtime.journal.chain import FIRST_EPOCH, Tip, genesis, records
from runtime.journal.group_commit import GROUP_MAX
from runtime.journal.holding import check_free, check_here
from runtime.journal.kinds import (
    FIRST_FORMAT,
    FIRST_KIND,
    Codecs,
    Formats,
    check_drivable,
    codec_of,
    codecs_by_kind,
)
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
from runtime.journal.sqlite import anchors, hosts, schema, statements
from runtime.journal.sqlite.anchors import Anchors, open_anchors
from runtime.journal.sqlite.appending import Booking, Written, extend_run
from runtime.journal.sqlite.cursors import SqliteCursors
from runtime.journal.sqlite.deletion import delete_runs, survey
from runtime.journal.sqlite.reading import in_one_snapshot, records_after
from runtime.journal.sqlite.slots import SqliteSlots
from runtime.journal.sqlite.writer import Writer, open_writer
from runtime.journal.thread import ConnectionThread, Explain, open_thread
from runtime.journal.validation import check_known_run, check_new, check_summary, check_text, encode_facts

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
    budget: HomeBudget | None = None,
    use_another: str = folder.USE_ANOTHER,
) -> AsyncIterator[Journal[E]]:
    """Open the journal in a file, and make both it (0600) and its folder (0700) if they are missing.

    When the context ends, everything that was handed in is written, and no thread or file is left open. A write raises
    `JournalMoved` if the file at the path is not the open one any more.

    Args:
        path: the file.
        codecs: the codecs of the kinds of runs that can be read; a single codec is that of `FIRST_KIND`.
        clock: the journal's clock.
        vfs: a file system registered with APSW; no folder or mode is checked then.
        busy_seconds: how long to wait for another process that is writing.
        budget: the daily budget; None is no limit.
        use_another: how the user chooses another folder, for messages about one that cannot be used.

    Raises `UsageProblem` for a folder that is not safe or cannot be written, `JournalDamaged`, `JournalNewer`,
    `JournalUnreadable`, `StorageFull`.
    """
    if vfs is None:
        folder.prepare_folder(path.parent, use_another)
        folder.prepare_file(path, use_another)
    check = folder.in_place(path) if vfs is None else _unchecked
    anchored = open_anchors(path) if vfs is None else nullcontext(Anchors())
    explain = partial(statements.explain, path, use_another)
    writer = partial(schema.open_writer, path, vfs, busy_seconds)
    reader = partial(schema.open_reader, path, vfs, busy_seconds)
    watcher = partial(schema.open_reader, path, vfs, 0.0)
    async with (
        open_writer(
            "journal-writer",
            writer,
            explain,
            busy_seconds=busy_seconds,
            group_max=GROUP_MAX,
            begun=partial(schema.check_unchanged, path=path),
            check=check,
        ) as writing,
        open_thread("journal-reader", reader, explain) as reading,
    ):
        # It is used on trio's thread, where it never waits, but opened on another, since opening may read the disk.
        with closing(await reading.do(lambda _: watcher())) as watching:
            allowed = budget or HomeBudget()
            with anchored as noted:
                yield _SqliteJournal(
                    codecs_by_kind(codecs),
                    clock,
                    explain,
                    allowed,
                    path=path,
                    writing=writing,
                    reading=reading,
                    watching=watching,
                    noted=noted,
                )


def _unchecked() -> None:
    """Check nothing: the path means nothing outside of a file system of tests."""


class _SqliteJournal(SqliteCursors, SqliteSlots, Generic[E]):
    def __init__(
        self,
        codecs: Codecs,
        clock: Clock,
        explain: Explain,
        budget: HomeBudget,
        *,
        path: Path,
        writing: Writer,
        reading: ConnectionThread[apsw.Connection],
        watching: apsw.Connection,
        noted: Anchors,
    ) -> None:
        self._codecs, self._clock, self._explain, self._budget = codecs, clock, explain, budget
        self._path = path
        self._writing, self._reading, self._watching = writing, reading, watching
        self._anchors, self._lost = noted, set[str]() if noted.count == 0 else None
        self._version = 0
        self._kinds: dict[str, tuple[str, int]] = {}  # Of the runs that are claimed here; they never change.

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
        booking = Booking(summary, now, self._budget, overdraw)
        epoch, end = FIRST_EPOCH if entries or owner is not None else 0, 0.0 if owner is None else now + ttl

        def work(connection: apsw.Connection) -> Written:
            self._check_new(connection, run)
            tip, number = Tip(0, genesis(kind, format)), self._anchors.count
            new = statements.RunLeaseRow(number, owner, end, epoch, tip, Account(), kind, format, placement)
            held = statements.add_run(connection, run, title, now, new)
            return extend_run(connection, run, held, entries, booking)

        written = await self._written(run, work)
        if owner is not None:
            self._kinds[run] = kind, format
        return records(run, entries, written.rows)

    async def row(self, run: str) -> RunRow:
        check_known_run(run)
        now = self._clock.now()
        return await self._look(lambda connection: statements.run_row(connection, run, now))

    async def runs(self, which: RunFilter) -> list[RunRow]:
        check_text(which.status or "", "status")
        check_text(which.title_start, "title")
        check_text(which.run_start, "run")
        now = self._clock.now()
        return await self._look(lambda connection: statements.run_rows(connection, which, now))

    async def claim(
        self, run: str, owner: str, ttl: float, *, dead: Dead = nobody, kinds: Formats | None = None
    ) -> int:
        check_known_run(run)
        check_text(owner, "owner")
        now = self._clock.now()

        def work(connection: apsw.Connection) -> statements.RunLeaseRow:
            held = statements.lease(connection, run)
            anchors.check(run, self._anchors.get(held.id, run), held.tip)
            check_drivable(kinds, run, held.kind, held.format)
            check_free(run, held.owner, held.end, now, dead)
            lease = held._replace(owner=owner, end=now + ttl, epoch=held.epoch + 1)
            statements.update_lease(connection, lease)
            return lease

        lease = await self._writing.do(work)
        self._kinds[run] = lease.kind, lease.format
        return lease.epoch

    async def renew(self, run: str, epoch: int, ttl: float) -> None:
        check_known_run(run)
        end = self._clock.now() + ttl

        def work(connection: apsw.Connection) -> None:
            held = statements.driven(connection, run, epoch)
            statements.update_lease(connection, held._replace(end=end))

        await self._writing.do(work)

    async def release(self, run: str, epoch: int) -> None:
        check_known_run(run)

        def work(connection: apsw.Connection) -> None:
            held = statements.lease(connection, run)
            if held.epoch == epoch:
                statements.update_lease(connection, held._replace(owner=None))

        await self._writing.do(work)
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
        check_summary(summary)
        entries = encode_facts(await self._codec(run), facts) if facts else []
        booking = Booking(summary, self._clock.now(), self._budget, overdraw)

        def work(connection: apsw.Connection) -> Written:
            held = statements.driven(connection, run, epoch)
            if held.tip.seq != after:
                raise SequenceConflict(run, after, held.tip.seq)
            return extend_run(connection, run, held, entries, booking)

        return records(run, entries, (await self._written(run, work)).rows)

    async def _written(self, run: str, work: Callable[[apsw.Connection], Written]) -> Written:
        """Write records, and note the last one where the write-ahead log does not reach."""
        written = await self._writing.do(work)
        if written.rows:
            last = written.rows[-1]
            self._anchors.note(written.number, run, Tip(last.seq, last.hash))
        return written

    def _check_new(self, connection: apsw.Connection, run: str) -> None:
        """Raise `JournalDamaged` if a run of this name was in the journal once: it would use its request ids again."""
        if self._lost is None:
            lost = self._anchors.without(statements.numbers(connection))
            self._lost = {anchor.run for anchor in lost.values()}
        if run in self._lost:
            raise JournalDamaged(f"run {run!r}", "it was in the journal, and all of its records are missing")

    async def read(self, run: str, after: int = 0) -> list[Record[E]]:
        check_known_run(run)

        held, read = await self._look(lambda connection: records_after(connection, self._codecs, run, after))
        anchor = self._anchors.get(held.id, run)
        if anchors.is_ahead(anchor, held.tip):
            # Its driver may have written more since then; what is in the journal now is at least what is noted.
            held = await self._look(lambda connection: statements.lease(connection, run))
            anchors.check(run, anchor, held.tip)
        return read

    async def post(self, run: str, key: str, body: str) -> Posted:
        check_known_run(run)
        check_text(key, "key")
        check_text(body, "body")
        now = self._clock.now()

        def work(connection: apsw.Connection) -> tuple[int, Posted]:
            held = statements.lease(connection, run)
            check_here(run, held.owner)
            item = statements.posted_under(connection, run, held.id, key)
            if item is not None:
                return held.id, Posted("duplicate" if item.body == body else "conflict", item.inbox, item.body)
            new = InboxItem(statements.last_message(connection, held.id) + 1, key, body, now)
            statements.add_message(connection, run, held.id, new)
            return held.id, Posted("accepted", new.inbox, body)

        number, posted = await self._writing.do(work)
        if posted.result == "accepted":
            self._anchors.note_message(number, posted.inbox)
        return posted

    async def inbox(self, run: str, after: int = 0) -> list[InboxItem]:
        check_known_run(run)

        def work(connection: apsw.Connection) -> list[InboxItem]:
            held = statements.lease(connection, run)
            return statements.posted_after(connection, run, held.id, after)

        return await self._look(work)

    async def delete(self, runs: Mapping[str, int], *, dead: Dead = nobody) -> Deleted:
        for run in runs:
            check_known_run(run)
        surveyed = await self._look(lambda connection: survey(connection, runs))
        now = self._clock.now()

        return await self._writing.do(
            lambda connection: delete_runs(connection, runs, now, dead, surveyed, anchors=self._anchors)
        )

    async def due(self, limit: int, *, dead: Dead = nobody, kinds: Formats | None = None) -> Due:
        now = self._clock.now()
        return await self._look(lambda connection: statements.due(connection, limit, now, dead, kinds))

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        check_text(host, "host")
        check_text(owner, "owner")
        now = self._clock.now()
        row = HostRow(host, owner, now + ttl, kinds)
        await self._writing.do(lambda connection: hosts.announce(connection, row, now))

    async def depart(self, host: str) -> None:
        await self._writing.do(lambda connection: hosts.depart(connection, host))

    async def hosts(self, *, dead: Dead = nobody) -> list[HostRow]:
        now = self._clock.now()
        rows = await self._look(lambda connection: hosts.present(connection, now))
        return [row for row in rows if not dead(row.owner)]

    async def spent_today(self, tenant: str = HOME) -> Amount:
        day = day_of(self._clock.now())
        return await self._look(lambda connection: statements.spending(connection, tenant, day))

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

    async def _codec(self, run: str) -> Codec[E]:
        """Return the codec that a run's events are written with. Raises `RunNotFound`, `KindUnknown`."""
        kind = self._kinds.get(run)
        if kind is None:
            held = await self._look(lambda connection: statements.lease(connection, run))
            kind = held.kind, held.format
        return codec_of(self._codecs, run, *kind)

    async def _look(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run a function with a connection on one snapshot of the file."""
        return await self._reading.do(partial(in_one_snapshot, self._path, work))
