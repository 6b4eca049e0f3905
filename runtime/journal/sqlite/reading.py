"""Reads the SQLite file without threads and without an event loop, for short commands.

The methods are async, because the port requires this, but they never wait. So `run_without_loop` can run them.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from runtime.core.errors import JournalDamaged, JournalError
from runtime.journal import folder
from runtime.journal.head import RunHead
from runtime.journal.operations import ReadOperations
from runtime.journal.port import Codecs
from runtime.journal.raw import StoreReader
from runtime.journal.sqlite import anchors, schema
from runtime.journal.sqlite.anchors import Anchors, open_anchors
from runtime.journal.sqlite.rows import SqliteReader
from runtime.journal.sqlite.schema import explain

E = TypeVar("E")
T = TypeVar("T")

Now = Callable[[], float]
"""A function that returns the time of the journal's clock, in UTC seconds since 1970."""
BUSY_SECONDS = 10.0
"""The longest time, in seconds, that a reader waits while another process repairs the journal's file after a crash."""


def in_one_snapshot(path: Path, work: Callable[[apsw.Connection], T], connection: apsw.Connection) -> T:
    """Call a function on one snapshot of the file and return its result.

    Raises `JournalNewer` if the file was upgraded.
    """
    connection.execute("BEGIN")
    try:
        schema.check_unchanged(connection, path)
        return work(connection)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


class FileReader(ReadOperations[E]):
    """The methods of a journal that only read, on a connection of their own."""

    def __init__(self, path: Path, connection: apsw.Connection, noted: Anchors, codecs: Codecs, now: Now) -> None:
        self._path, self._connection, self._anchors, self._codecs, self._now = path, connection, noted, codecs, now

    async def _look(self, read: Callable[[StoreReader], T]) -> T:
        reader = SqliteReader(self._connection, self._now())
        try:
            return in_one_snapshot(self._path, lambda _: read(reader), self._connection)
        except (apsw.Error, UnicodeDecodeError) as error:
            raise explain(self._path, folder.USE_ANOTHER, error) from error

    async def _check_end(self, head: RunHead) -> None:
        anchor = self._anchors.get(head.id, head.run)
        if anchors.is_ahead(anchor, head.tip):  # A driver may have written more since then.
            anchors.check(head.run, anchor, (await self._look(lambda reader: reader.head(head.run))).tip)


@contextmanager
def open_to_read(path: Path, codecs: Codecs, now: Now) -> Iterator[FileReader[Any] | None]:
    """Yield an object that reads the journal in a file; yield None if only `open_sqlite` can open that file.

    `open_sqlite` is needed for a file that has an earlier version, is damaged, or cannot be read by SQLite without
    writing.
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


def run_without_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, without an event loop, and return its result."""
    try:
        work.send(None)
    except StopIteration as stopped:
        result: T = stopped.value
        return result
    work.close()
    raise AssertionError("the coroutine waits, so it needs an event loop")
