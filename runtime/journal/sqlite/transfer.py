"""Copying runs out of a SQLite file and into one (`runtime.journal.copying`)."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import apsw

from runtime.core.daily_budget import NO_LIMIT
from runtime.core.errors import JournalError, RunExists, RunMoved, RunNotFound, UsageProblem
from runtime.journal import folder
from runtime.journal.chain import Tip, verify
from runtime.journal.copying import Refused, RunCopy, Spent, check_received
from runtime.journal.deletion import named_texts
from runtime.journal.holding import MOVED_UNTIL, check_movable, moved_to, place_moved_to
from runtime.journal.port import Dead
from runtime.journal.sqlite import anchors, schema, statements
from runtime.journal.sqlite.anchors import Anchors, open_anchors
from runtime.journal.sqlite.packing import pack, unpack

BUSY_SECONDS = 10.0
"""How long to wait for another process that is writing."""

_EVENT = "INSERT INTO events (run, seq, at, epoch, inbox, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?)"


class SqliteTransfer:
    """A file that runs are copied from or to."""

    def __init__(self, connection: apsw.Connection, noted: Anchors, now: float) -> None:
        """Take a connection that writes."""
        self._connection, self._anchors, self._now = connection, noted, now

    @contextmanager
    def changing(self) -> Iterator[apsw.Connection]:
        """Yield the connection in a transaction."""
        with transaction(self._connection):
            yield self._connection

    def runs(self) -> list[str]:
        """As `Source.runs`."""
        return [run for (run,) in self._connection.execute("SELECT run FROM runs WHERE last_seq > 0 ORDER BY id")]

    def move(self, runs: Sequence[str], place: str, dead: Dead) -> Iterator[tuple[str, RunCopy | JournalError]]:
        """As `Source.move`."""
        failed = dict[str, JournalError]()
        with transaction(self._connection):
            for run in runs:
                try:
                    self._mark(run, place, dead)
                except JournalError as error:
                    failed[run] = error
        for run in runs:
            yield run, failed.get(run) or self._copy(run)

    def _mark(self, run: str, place: str, dead: Dead) -> None:
        held = statements.lease(self._connection, run)
        anchors.check(run, self._anchors.get(held.id, run), held.tip)
        if not check_movable(run, held.owner, held.end, self._now, dead, place=place):
            held = held._replace(owner=moved_to(place), end=MOVED_UNTIL, epoch=held.epoch + 1)
            statements.update_lease(self._connection, held)

    def _copy(self, run: str) -> RunCopy | JournalError:
        """Return all of a run, verified, or why it cannot be read."""
        try:
            return self._read(run)
        except JournalError as error:
            return error

    def _read(self, run: str) -> RunCopy:
        connection = self._connection
        held = statements.lease(connection, run)
        packed = statements.rows_after(connection, held.id, 0)
        rows = unpack(run, held.start, packed)
        verify(run, held.start, rows, held.tip)
        texts = {digest: statements.text(connection, digest.hex()) for digest in named_texts(row.body for row in rows)}
        row = statements.run_row(connection, run, self._now)
        return RunCopy(
            run,
            row.title,
            held.kind,
            held.format,
            row.created,
            row.updated,
            row.summary,
            held.epoch,
            held.account,
            held.placement,
            rows,
            frozenset(row.seq for row in packed),
            statements.posted_after(connection, run, held.id, 0),
            {digest: text for digest, text in texts.items() if text is not None},
        )

    def keep(self, runs: Sequence[str], place: str) -> None:
        """As `Source.keep`."""
        with transaction(self._connection):
            for run in runs:
                held = statements.lease(self._connection, run)
                if place_moved_to(held.owner) == place:
                    statements.update_lease(self._connection, held._replace(owner=None, end=0.0))

    def add(self, copies: Sequence[tuple[RunCopy, Spent]], source: str = "") -> list[bool | Refused]:
        """As `Target.add`."""
        results, added = list[bool | Refused](), list[tuple[int, RunCopy]]()
        with transaction(self._connection):
            for copy, spent in copies:
                try:
                    new = not self._received(copy, source)
                except (RunExists, RunMoved) as error:
                    results.append(error)
                    continue
                if new:
                    added.append((self._add(copy, spent), copy))
                results.append(new)
        for number, copy in added:
            self._anchors.note(number, copy.run, copy.tip)
            self._anchors.note_message(number, copy.last_posted)
        return results

    def _add(self, copy: RunCopy, spent: Spent) -> int:
        """Add a run that is not there, in a transaction that has begun, and return its number."""
        connection = self._connection
        new = statements.RunLeaseRow(
            *(self._anchors.count, None, 0.0, copy.epoch, copy.tip, copy.account),
            *(copy.kind, copy.format, copy.placement),
        )
        held = statements.add_run(connection, copy.run, copy.title, copy.created, new)
        for item in copy.inbox:
            statements.add_message(connection, copy.run, held.id, item)
        for digest, text in copy.texts.items():
            statement = "INSERT INTO texts (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING"
            connection.execute(statement, (digest, text))
        begin = 0
        for end in sorted(copy.ends):
            for row in pack(copy.records[begin:end]):
                connection.execute(_EVENT, (held.id, *row))
            begin = end
        statements.update_run(connection, held, copy.summary, copy.updated)
        if not copy.unread:
            connection.execute("DELETE FROM unread WHERE run = ?", (held.id,))
        for tenant in NO_LIMIT.of(copy.placement.tenant):
            if spent is None:
                statements.cover_spending(connection, tenant, copy.account.day)
                continue
            for day, amount in spent.items():
                statements.add_spending(connection, tenant, day, amount)
        return held.id

    def _received(self, copy: RunCopy, source: str) -> bool:
        """Tell whether the file has a run of the name. Raises as `check_received`, if that is not the copied one."""
        try:
            held = statements.lease(self._connection, copy.run)
        except RunNotFound:
            return False
        found = self._connection.execute(
            "SELECT seq, hash FROM events WHERE run = ? AND seq = ?", (held.id, copy.tip.seq)
        )
        check_received(copy, held.owner, held.epoch, has_tip=copy.tip in [Tip(*values) for values in found])
        if source and place_moved_to(held.owner) == source:
            statements.update_lease(self._connection, held._replace(owner=None, end=0.0))
        return True


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Commit what is done within a `with` block, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def open_transfer(path: Path, now: float, use_another: str, *, make: bool) -> Iterator[SqliteTransfer]:
    """Open a file to copy runs from or to; only with `make` a missing one is made.

    Raises as `open_sqlite`.
    """
    if not make and not path.exists():
        raise UsageProblem("there is no journal here", place=str(path), hint="name a home, or a journal's URL")
    with open_writer(path, use_another) as (connection, noted):
        yield SqliteTransfer(connection, noted, now)


@contextmanager
def open_writer(path: Path, use_another: str) -> Iterator[tuple[apsw.Connection, Anchors]]:
    """Open a file for writing, with its anchors; a missing one is made. Raises as `open_sqlite`."""
    explain = partial(statements.explain, path, use_another)
    try:
        folder.prepare_folder(path.parent, use_another)
        folder.prepare_file(path, use_another)
        with closing(schema.open_writer(path, None, BUSY_SECONDS)) as connection, open_anchors(path) as noted:
            yield connection, noted
    except (apsw.Error, OSError) as error:
        meaning = explain(error)
        raise meaning from (None if meaning is error else error)
