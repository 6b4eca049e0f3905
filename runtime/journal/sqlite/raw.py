"""A SQLite file without an event loop, to copy, delete and check runs."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw

from runtime.core.daily_budget import NO_LIMIT
from runtime.core.errors import JournalError, RunExists, RunMoved, RunNotFound, UsageProblem
from runtime.core.hooks import mark_point
from runtime.journal import folder, rules
from runtime.journal.chain import Stored, Tip
from runtime.journal.head import RunHead
from runtime.journal.port import Deleted
from runtime.journal.raw import Inspection, RawStore, Refused, RunCopy, Spent
from runtime.journal.rules import RunOperation, named_texts
from runtime.journal.sqlite import anchors, schema, writing
from runtime.journal.sqlite.anchors import Anchor, Anchors, open_anchors
from runtime.journal.sqlite.rows import SqliteReader
from runtime.journal.sqlite.schema import explain, version_of

_OF_A_RUN = ("agenda", "unread", "asked", "positions", "events", "inbox")
"""The tables from which a run's rows are deleted, in this order. Each table comes before the tables to which its rows
refer."""


class Survey(NamedTuple):
    """The texts that runs to delete use, found in one snapshot of the file."""

    named: frozenset[bytes]
    """The hashes of the texts that these runs use."""
    kept: frozenset[bytes]
    """The hashes of those texts that other runs use too."""
    tips: dict[int, Tip]
    """The ends of the chains of all other runs, by the run's number."""


def survey(connection: apsw.Connection, runs: Collection[str]) -> Survey:
    """Find the texts of `runs`, and which of them other runs use too, in the caller's snapshot.

    Raises `RunNotFound`.
    """
    reader = SqliteReader(connection, 0.0)
    numbers = {reader.head(run).id for run in runs}
    named = named_texts(body for number in numbers for body in _bodies(connection, number))
    tips = {number: tip for number, tip in _tips(connection) if number not in numbers}
    kept = named & named_texts(_bodies_of_others(connection, numbers)) if named else set[bytes]()
    return Survey(frozenset(named), frozenset(kept), tips)


def delete_runs(
    connection: apsw.Connection,
    runs: Collection[str],
    check: Callable[[RunHead], None],
    surveyed: Survey,
    *,
    anchors: Anchors,
) -> Deleted:
    """Delete runs in an open transaction. `surveyed` is what `survey` has returned for them.

    `check` is called with each run's row, and raises an error if the run must not be deleted. Raises that error, or
    `RunNotFound`. If an error is raised, nothing is changed.
    """
    heads = [SqliteReader(connection, 0.0).head(run) for run in runs]
    for head in heads:
        check(head)
    numbers = [head.id for head in heads]
    unused = surveyed.named - surveyed.kept
    if unused:
        unused -= named_texts(_added_since(connection, surveyed, frozenset(numbers)))
    for number in numbers:
        for table in _OF_A_RUN:
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (number,))  # noqa: S608 -- names of our own
        connection.execute("DELETE FROM runs WHERE id = ?", (number,))
    texts, size = 0, 0
    for digest in unused:
        for (length,) in connection.execute("DELETE FROM texts WHERE hash = ? RETURNING length(text)", (digest,)):
            texts, size = texts + 1, size + int(length)
    anchors.clear(numbers)
    return Deleted(len(numbers), texts, size)


def _added_since(connection: apsw.Connection, surveyed: Survey, deleted: Collection[int]) -> Iterator[bytes]:
    """Yield the bodies of the events that were appended to other runs after the survey."""
    for number, tip in list(_tips(connection)):
        before = surveyed.tips.get(number)
        if number in deleted or tip == before:
            continue
        # Meanwhile another run may have got this number.
        same = before is not None and _has(connection, number, before)
        yield from _bodies(connection, number, after=before.seq if before is not None and same else 0)


def _tips(connection: apsw.Connection) -> Iterator[tuple[int, Tip]]:
    for number, seq, digest in connection.execute("SELECT id, last_seq, last_hash FROM runs"):
        yield number, Tip(seq, bytes(digest))


def _has(connection: apsw.Connection, number: int, tip: Tip) -> bool:
    rows = connection.execute("SELECT hash FROM events WHERE run = ? AND seq = ?", (number, tip.seq))
    return [bytes(digest) for (digest,) in rows] == [tip.hash]


def _bodies(connection: apsw.Connection, number: int, after: int = 0) -> Iterator[bytes]:
    for (body,) in connection.execute("SELECT body FROM events WHERE run = ? AND seq > ?", (number, after)):
        yield bytes(body)


def _bodies_of_others(connection: apsw.Connection, numbers: Collection[int]) -> Iterator[bytes]:
    for number, body in connection.execute("SELECT run, body FROM events"):
        if number not in numbers:
            yield bytes(body)


BUSY_SECONDS = 10.0


class SqliteRaw(RawStore):
    """The raw store of a SQLite file."""

    def __init__(self, connection: apsw.Connection, noted: Anchors, now: float) -> None:
        self._connection, self._anchors, self._now = connection, noted, now

    @contextmanager
    def look(self) -> Iterator[SqliteReader]:
        self._connection.execute("BEGIN")
        try:
            yield SqliteReader(self._connection, self._now)
        finally:
            self._connection.execute("ROLLBACK")

    def head(self, run: str) -> RunHead:
        """Implement `RawStore.head`. The row is checked against the run's anchor."""
        head = super().head(run)
        anchor = self._anchors.get(head.id, run)
        if anchors.is_ahead(anchor, head.tip):  # A driver may have written more since then.
            head = super().head(run)
            anchors.check(run, anchor, head.tip)
        return head

    def carry_out(self, works: Sequence[RunOperation[None]]) -> list[JournalError | None]:
        with transaction(self._connection):
            return [self._carry_out(work) for work in works]

    def _carry_out(self, work: RunOperation[None]) -> JournalError | None:
        try:
            writing.carry_out(self._connection, work, self._now, NO_LIMIT, self._anchors)
        except JournalError as error:
            return error
        return None

    def add(self, copies: Sequence[tuple[RunCopy, Spent]], source: str = "") -> list[bool | Refused]:
        results, added = list[bool | Refused](), list[RunHead]()
        with transaction(self._connection):
            for copy, spent in copies:
                try:
                    new = not self._has_received(copy.head, source)
                except (RunExists, RunMoved) as error:
                    results.append(error)
                    continue
                if new:
                    added.append(self._add(copy, spent))
                results.append(new)
        for head in added:
            self._anchors.note(head.id, head.run, head.tip)
            self._anchors.note_message(head.id, head.last_posted)
        return results

    def _has_received(self, copy: RunHead, source: str) -> bool:
        """Return whether the file already has this copy of a run."""
        reader = SqliteReader(self._connection, self._now)
        try:
            found = reader.head(copy.run)
        except RunNotFound:
            return False
        changed = rules.receive(copy, found, source, has_tip=reader.has(found, copy.tip))
        if changed is not None:
            writing.put(self._connection, found, changed)
        return True

    def _add(self, copy: RunCopy, spent: Spent) -> RunHead:
        """Add a run that the file lacks, in an open transaction, and return the run's row."""
        connection = self._connection
        head = writing.number_run(connection, copy.added, self._anchors)
        writing.put(connection, None, head)
        writing.ask(connection, head.id, head.summary.asks)
        for item in copy.inbox:
            writing.add_message(connection, head, item)
        writing.add_texts(connection, copy.texts)
        begin = 0
        for end in sorted(copy.ends):
            writing.add_records(connection, head, copy.records[begin:end])
            begin = end
        for tenant in NO_LIMIT.of(head.placement.tenant):
            for day, amount in spent.items():
                writing.spend(connection, tenant, day, amount)
        return head

    def remove(self, heads: Sequence[RunHead], place: str) -> Deleted:
        read = {head.run: head for head in heads}
        with self.look():  # Other processes write meanwhile.
            surveyed = survey(self._connection, read)
        with transaction(self._connection):
            deleted = delete_runs(
                self._connection,
                read,
                lambda head: rules.check_moved(head, read[head.run], place),
                surveyed,
                anchors=self._anchors,
            )
            mark_point("copy.removing")
            return deleted


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Commit everything that is done within a `with` block. If the block raises an error, commit nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def open_raw(path: Path, now: float, use_another: str, *, make: bool = False) -> Iterator[SqliteRaw]:
    """Open a file to move runs out of it or into it. If `make` is true, make the file if it is missing.

    Raises the errors of `open_sqlite`, and `UsageProblem` if the file is missing.
    """
    with open_writer(path, use_another, make=make) as (connection, noted):
        yield SqliteRaw(connection, noted, now)


@contextmanager
def open_writer(path: Path, use_another: str, *, make: bool = True) -> Iterator[tuple[apsw.Connection, Anchors]]:
    """Open a file for writing, with its anchors. Raises the errors of `open_raw`."""
    if not make and not path.exists():
        raise UsageProblem("there is no journal here", place=str(path), hint="name a home, or a journal's URL")
    explained = partial(explain, path, use_another)
    try:
        folder.prepare_folder(path.parent, use_another)
        anchors.check_not_lost(path)
        folder.prepare_file(path, use_another)
        with closing(schema.open_writer(path, None, BUSY_SECONDS)) as connection, open_anchors(path) as noted:
            yield connection, noted
    except (apsw.Error, OSError) as error:
        meaning = explained(error)
        raise meaning from (None if meaning is error else error)


class Noted(NamedTuple):
    """The anchors of a journal at one point in time."""

    anchors: dict[int, Anchor]
    slots: int | None
    """The highest number of a run with a slot; None if the journal has no anchors."""

    def of(self, head: RunHead) -> Anchor | None:
        """Return the anchor of a run."""
        anchor = self.anchors.get(head.id)
        return anchor if anchor is not None and anchor.run == head.run else None

    def check_end(self, head: RunHead, rows: Sequence[Stored]) -> None:
        """Implement `Inspection.check_end` with the run's anchor."""
        anchor = self.of(head)
        anchors.check(head.run, anchor, head.tip)
        if anchor is not None and 0 < anchor.tip.seq <= len(rows):
            anchors.check(head.run, anchor, anchor.tip._replace(hash=rows[anchor.tip.seq - 1].hash))

    def last_posted(self, head: RunHead) -> int:
        """Implement `Inspection.last_posted` with the run's row and its anchor."""
        anchor = self.of(head)
        return max(head.last_posted, 0 if anchor is None else anchor.inbox)


@contextmanager
def open_inspection(path: Path, now: float, use_another: str) -> Iterator[Inspection]:
    """Open one snapshot of an existing journal for reading. A lease counts as ended if its end is before `now`.

    Opening and reading raise `JournalDamaged`, `JournalNewer`, `JournalUnreadable`, `JournalBusy`.
    """
    try:
        with open_anchors(path, write=False) as noted:
            # The anchors are read before the snapshot, because a driver may write more in between.
            anchored = Noted(noted.without(()), noted.count if noted.kept else None)
        with closing(schema.open_reader(path, None, BUSY_SECONDS)) as connection:
            if schema.is_current(connection, path):
                yield _inspect(connection, anchored, now)
                return
            with TemporaryDirectory(prefix="replan-") as folder, _upgrade_copy(connection, Path(folder)) as copy:
                yield _inspect(copy, anchored, now)
    except (apsw.Error, OSError) as error:
        meaning = explain(path, use_another, error)
        raise meaning from (None if meaning is error else error)


def _inspect(connection: apsw.Connection, noted: Noted, now: float) -> Inspection:
    connection.execute("BEGIN")
    numbers = {number for (number,) in connection.execute("SELECT id FROM runs")}
    known = numbers | noted.anchors.keys()
    return Inspection(
        SqliteReader(connection, now),
        _problems(connection),
        [anchor.run for number, anchor in noted.anchors.items() if number not in numbers],
        # A number is missing, or nobody knows whether the last numbers are missing.
        may_lack_deleted=noted.slots is None or len(known) < max(noted.slots, *known, 0),
        agenda=lambda head: _agenda(connection, head.id),
        check_end=noted.check_end,
        last_posted=noted.last_posted,
    )


def _problems(connection: apsw.Connection) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield str(line).splitlines()[0]
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"row {row} of the table {table} refers to a missing row of the table {parent}"


def _agenda(connection: apsw.Connection, number: int) -> tuple[float | None, bool]:
    agenda = [at for (at,) in connection.execute("SELECT at FROM agenda WHERE run = ?", (number,))]
    unread = [*connection.execute("SELECT 1 FROM unread WHERE run = ?", (number,))]
    return (agenda[0] if agenda else None), bool(unread)


@contextmanager
def _upgrade_copy(source: apsw.Connection, folder: Path) -> Iterator[apsw.Connection]:
    """Copy a journal of an earlier version, upgrade the copy, and yield a connection to it."""
    path = folder / "journal"
    with closing(apsw.Connection(str(path))) as copy, copy.backup("main", source, "main") as backup:
        backup.step()
    with closing(schema.open_writer(path, None, BUSY_SECONDS)) as upgraded:
        yield upgraded


def upgrade(path: Path, use_another: str) -> int:
    """Upgrade an existing file, and return its version. Raises the errors of `open_raw`."""
    with open_writer(path, use_another, make=False) as (connection, _), transaction(connection):
        return version_of(connection, path)
