"""Reading the SQLite file at once: for a short command, which need not wait for threads or load an event loop.

Its methods are async only because the port's are: none of them waits, so `at_once` runs them without an event loop.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import apsw

from runtime.core.errors import JournalDamaged, JournalError
from runtime.core.events import Record
from runtime.journal import folder
from runtime.journal.chain import decode, verify
from runtime.journal.kinds import Codecs, codec_of
from runtime.journal.port import Dead, HostRow, InboxItem, RunFilter, RunRow, nobody
from runtime.journal.sqlite import anchors, hosts, schema, statements
from runtime.journal.sqlite.anchors import Anchors, open_anchors
from runtime.journal.sqlite.packing import unpack
from runtime.journal.sqlite.statements import RunLeaseRow
from runtime.journal.validation import check_known_run, check_text

E = TypeVar("E")
T = TypeVar("T")

Now = Callable[[], float]
"""Returns the time of the journal's clock, in UTC seconds since 1970."""
BUSY_SECONDS = 10.0
"""How long to wait for another process that repairs the file after a crash."""


def in_one_snapshot(path: Path, work: Callable[[apsw.Connection], T], connection: apsw.Connection) -> T:
    """Return what a function reads on one snapshot of the file; raise `JournalNewer` if that was upgraded meanwhile."""
    connection.execute("BEGIN")
    try:
        schema.check_unchanged(connection, path)
        return work(connection)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def records_after(
    connection: apsw.Connection, codecs: Codecs, run: str, after: int
) -> tuple[RunLeaseRow, list[Record[Any]]]:
    """Return the end of a run's chain, and its records after a place, verified, on one snapshot of the file.

    Raises as `Journal.read` does, but for what the anchors say.
    """
    held = statements.lease(connection, run)
    start = statements.tip_before(connection, held, max(0, after))
    rows = unpack(run, start, statements.rows_after(connection, held.id, start.seq))
    verify(run, start, rows, held.tip)
    selected = rows[max(0, after) - start.seq :]
    codec = codec_of(codecs, run, held.kind, held.format)
    return held, decode(codec, run, selected, partial(statements.text, connection))


class FileReader(Generic[E]):
    """The reading half of a journal, on a connection of its own (`runtime.journal.port.Readable`)."""

    def __init__(self, path: Path, connection: apsw.Connection, noted: Anchors, codecs: Codecs, now: Now) -> None:
        self._path, self._connection, self._anchors, self._codecs, self._now = path, connection, noted, codecs, now

    async def row(self, run: str) -> RunRow:
        """As `Journal.row`."""
        check_known_run(run)
        return self._look(lambda connection: statements.run_row(connection, run, self._now()))

    async def runs(self, which: RunFilter) -> list[RunRow]:
        """As `Journal.runs`."""
        check_text(which.status or "", "status")
        check_text(which.title_start, "title")
        check_text(which.run_start, "run")
        return self._look(lambda connection: statements.run_rows(connection, which, self._now()))

    async def read(self, run: str, after: int = 0) -> list[Record[E]]:
        """As `Journal.read`."""
        check_known_run(run)
        held, read = self._look(lambda connection: records_after(connection, self._codecs, run, after))
        anchor = self._anchors.get(held.id, run)
        if anchors.is_ahead(anchor, held.tip):  # A driver may have written more since then.
            anchors.check(run, anchor, self._look(lambda connection: statements.lease(connection, run)).tip)
        return read

    async def inbox(self, run: str, after: int = 0) -> list[InboxItem]:
        """As `Journal.inbox`."""
        check_known_run(run)
        return self._look(
            lambda connection: statements.posted_after(connection, run, statements.lease(connection, run).id, after)
        )

    async def hosts(self, *, dead: Dead = nobody) -> list[HostRow]:
        """As `Journal.hosts`."""
        rows = self._look(lambda connection: hosts.present(connection, self._now()))
        return [row for row in rows if not dead(row.owner)]

    def _look(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run a function on one snapshot of the file. Raises the journal's errors for those of SQLite."""
        try:
            return in_one_snapshot(self._path, work, self._connection)
        except (apsw.Error, UnicodeDecodeError) as error:
            raise statements.explain(self._path, folder.USE_ANOTHER, error) from error


@contextmanager
def open_to_read(path: Path, codecs: Codecs, now: Now) -> Iterator[FileReader[Any] | None]:
    """Yield the reading half of the journal in a file; None where only `open_sqlite` can open it.

    That is a file of an earlier version, a damaged one, and one that SQLite cannot read without writing.
    """
    try:
        connection = schema.open_reader(path, None, BUSY_SECONDS)
    except apsw.Error:
        yield None
        return
    with closing(connection), open_anchors(path, write=False) as noted:
        yield FileReader(path, connection, noted, codecs, now) if _is_current(connection, path) else None


def _is_current(connection: apsw.Connection, path: Path) -> bool:
    try:
        return schema.is_current(connection, path)
    except (apsw.Error, JournalError, JournalDamaged):
        return False


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that waits for nothing, without an event loop."""
    try:
        work.send(None)
    except StopIteration as stopped:
        result: T = stopped.value
        return result
    work.close()
    raise AssertionError("the coroutine waits: it needs an event loop")
