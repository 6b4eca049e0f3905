"""Reading the runs of a SQLite file part by part, and deleting them, to archive them (`runtime.journal.archive`)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from runtime.core.crash_points import reached
from runtime.core.errors import SequenceConflict, UsageProblem
from runtime.journal import folder
from runtime.journal.archive.store import PART, RunHead
from runtime.journal.chain import Stored
from runtime.journal.deletion import named_texts
from runtime.journal.port import Dead, Deleted, InboxItem
from runtime.journal.sqlite import anchors, statements
from runtime.journal.sqlite.anchors import Anchors
from runtime.journal.sqlite.deletion import delete_runs, survey
from runtime.journal.sqlite.packing import unpack
from runtime.journal.sqlite.transfer import open_writer, transaction

_ROWS = "SELECT seq, at, epoch, inbox, body, hash FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?"
_MESSAGES = "SELECT coalesce(sum(length(key) + length(body)), 0) FROM inbox WHERE run = ?"


class SqliteStore:
    """A file that runs are archived from (`runtime.journal.archive.store.Store`)."""

    def __init__(self, connection: apsw.Connection, noted: Anchors, now: float) -> None:
        """Take a connection that writes."""
        self._connection, self._anchors, self._now = connection, noted, now

    def head(self, run: str) -> RunHead:
        """As `Store.head`."""
        connection = self._connection
        with _snapshot(connection):
            held, row = statements.lease(connection, run), statements.run_row(connection, run, self._now)
            last = statements.last_message(connection, held.id)
        anchors.check(run, self._anchors.get(held.id, run), held.tip)
        fields = row.title, row.kind, row.format, row.created, row.updated, row.summary, held.epoch
        return RunHead(run, *fields, held.account, held.tip, last, held.placement)

    def size(self, run: str) -> int:
        """As `Store.size`."""
        connection, number = self._connection, statements.lease(self._connection, run).id
        total, named = 0, set[bytes]()
        for (body,) in connection.execute("SELECT body FROM events WHERE run = ?", (number,)):
            total += len(body)
            named |= named_texts([bytes(body)])
        for digest in named:
            for (length,) in connection.execute("SELECT length(text) FROM texts WHERE hash = ?", (digest,)):
                total += int(length)
        ((messages,),) = connection.execute(_MESSAGES, (number,))
        return total + int(messages)

    def records(self, run: str, after: int) -> tuple[list[Stored], frozenset[int]]:
        """As `Store.records`."""
        connection = self._connection
        with _snapshot(connection):
            held = statements.lease(connection, run)
            start = statements.tip_before(connection, held, after)
            packed = list(map(Stored._make, connection.execute(_ROWS, (held.id, start.seq, PART))))
        rows = unpack(run, start, packed)[after - start.seq :]
        return rows, frozenset(row.seq for row in packed)

    def messages(self, run: str, after: int) -> list[InboxItem]:
        """As `Store.messages`."""
        connection = self._connection
        with _snapshot(connection):
            number = statements.lease(connection, run).id
            return statements.posted_after(connection, run, number, after, PART)

    def text(self, digest: bytes) -> bytes | None:
        """As `Store.text`."""
        return statements.text(self._connection, digest.hex())

    def remove(self, heads: Sequence[RunHead], dead: Dead) -> Deleted:
        """As `Store.remove`."""
        connection = self._connection
        with _snapshot(connection):  # Other processes write meanwhile.
            surveyed = survey(connection, [head.run for head in heads])
        with transaction(connection):
            for head in heads:
                held = statements.lease(connection, head.run)
                last = statements.last_message(connection, held.id)
                if (held.tip, last) != (head.tip, head.last_posted):
                    raise SequenceConflict(head.run, head.tip.seq, held.tip.seq)
            runs = {head.run: head.tip.seq for head in heads}
            deleted = delete_runs(connection, runs, self._now, dead, surveyed, anchors=self._anchors)
            reached("archive.removing")
            return deleted


@contextmanager
def _snapshot(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


@contextmanager
def open_store(path: Path, now: float, use_another: str = folder.USE_ANOTHER) -> Iterator[SqliteStore]:
    """Open a file to archive runs from. Raises as `open_sqlite`, and `UsageProblem` where there is none."""
    if not path.exists():
        raise UsageProblem("there is no journal here", place=str(path), hint="name a home, or a journal's URL")
    with open_writer(path, use_another) as (connection, noted):
        yield SqliteStore(connection, noted, now)
