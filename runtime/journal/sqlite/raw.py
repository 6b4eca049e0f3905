"""A SQLite file outside of an event loop: to copy runs out of it and into it, to archive and to delete them."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import apsw

from runtime.core.crash_points import reached
from runtime.core.daily_budget import NO_LIMIT
from runtime.core.errors import JournalError, RunExists, RunMoved, RunNotFound, UsageProblem
from runtime.journal import folder, rules
from runtime.journal.head import RunHead
from runtime.journal.port import Dead, Deleted
from runtime.journal.raw import RawStore, Refused, RunCopy, Spent
from runtime.journal.rules import Work
from runtime.journal.sqlite import anchors, schema, writing
from runtime.journal.sqlite.anchors import Anchors, open_anchors
from runtime.journal.sqlite.deletion import delete_runs, survey
from runtime.journal.sqlite.failures import explain
from runtime.journal.sqlite.rows import SqliteReader

BUSY_SECONDS = 10.0
"""How long to wait for another process that is writing."""


class SqliteRaw(RawStore):
    """The raw store of a SQLite file."""

    def __init__(self, connection: apsw.Connection, noted: Anchors, now: float) -> None:
        """Take a connection that writes."""
        self._connection, self._anchors, self._now = connection, noted, now

    @contextmanager
    def look(self) -> Iterator[SqliteReader]:
        """As `RawStore.look`."""
        self._connection.execute("BEGIN")
        try:
            yield SqliteReader(self._connection, self._now)
        finally:
            self._connection.execute("ROLLBACK")

    def head(self, run: str) -> RunHead:
        """As `RawStore.head`, checked by its anchor."""
        head = super().head(run)
        anchor = self._anchors.get(head.id, run)
        if anchors.is_ahead(anchor, head.tip):  # A driver may have written more since then.
            head = super().head(run)
            anchors.check(run, anchor, head.tip)
        return head

    def carry_out(self, works: Sequence[Work[None]]) -> list[JournalError | None]:
        """As `RawStore.carry_out`."""
        with transaction(self._connection):
            return [self._carried_out(work) for work in works]

    def _carried_out(self, work: Work[None]) -> JournalError | None:
        try:
            writing.carry_out(self._connection, work, self._now, NO_LIMIT, self._anchors)
        except JournalError as error:
            return error
        return None

    def add(self, copies: Sequence[tuple[RunCopy, Spent]], source: str = "") -> list[bool | Refused]:
        """As `RawStore.add`."""
        results, added = list[bool | Refused](), list[RunHead]()
        with transaction(self._connection):
            for copy, spent in copies:
                try:
                    new = not self._received(copy.head, source)
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

    def _received(self, copy: RunHead, source: str) -> bool:
        """Tell whether the file has a run of the name. Raises as `rules.receive`, if that is not the copied one."""
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
        """Add a run that is not there, in a transaction that has begun, and return its row."""
        connection = self._connection
        head = writing.numbered(connection, copy.added, self._anchors)
        writing.put(connection, None, head)
        writing.ask(connection, head.id, head.summary.asks)
        for item in copy.inbox:
            writing.add_message(connection, head, item)
        writing.add_texts(connection, copy.texts)
        begin = 0
        for end in sorted(copy.ends):
            writing.add_records(connection, head, copy.records[begin:end])
            begin = end
        tenants = NO_LIMIT.of(head.placement.tenant)
        if spent is None:
            writing.cover(connection, tenants, head.account.day)
            return head
        for tenant in tenants:
            for day, amount in spent.items():
                writing.spend(connection, tenant, day, amount)
        return head

    def remove(self, heads: Sequence[RunHead], dead: Dead) -> Deleted:
        """As `RawStore.remove`."""
        runs = {head.run: head.tip.seq for head in heads}
        with self.look():  # Other processes write meanwhile.
            surveyed = survey(self._connection, runs)
        with transaction(self._connection):
            reader = SqliteReader(self._connection, self._now)
            for head in heads:
                rules.check_unchanged(reader.head(head.run), head)
            deleted = delete_runs(self._connection, runs, self._now, dead, surveyed, anchors=self._anchors)
            reached("archive.removing")
            return deleted


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
def open_raw(path: Path, now: float, use_another: str, *, make: bool = False) -> Iterator[SqliteRaw]:
    """Open a file to move runs out of it or into it; only with `make` a missing one is made.

    Raises as `open_sqlite`, and `UsageProblem` where there is none.
    """
    with open_writer(path, use_another, make=make) as (connection, noted):
        yield SqliteRaw(connection, noted, now)


@contextmanager
def open_writer(path: Path, use_another: str, *, make: bool = True) -> Iterator[tuple[apsw.Connection, Anchors]]:
    """Open a file for writing, with its anchors. Raises as `open_raw`."""
    if not make and not path.exists():
        raise UsageProblem("there is no journal here", place=str(path), hint="name a home, or a journal's URL")
    explained = partial(explain, path, use_another)
    try:
        folder.prepare_folder(path.parent, use_another)
        folder.prepare_file(path, use_another)
        with closing(schema.open_writer(path, None, BUSY_SECONDS)) as connection, open_anchors(path) as noted:
            yield connection, noted
    except (apsw.Error, OSError) as error:
        meaning = explained(error)
        raise meaning from (None if meaning is error else error)
