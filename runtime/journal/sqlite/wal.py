"""Checkpoints: copying SQLite's write-ahead log into the database file, all of it at once.

By default SQLite copies as much as readers allow, and syncs the file only when it has reached the log's end. If that
sync fails, Linux drops the pages that it could not write, those of earlier partial copies too. SQLite then copies only
the last part again, syncs it, and deletes the log: the earlier pages are lost. So a checkpoint waits for readers. The
wait is short, since nobody writes meanwhile; if a reader hangs, SQLite copies as much as it can.
"""

import apsw

from runtime.logs import log

PAGES_MAX = 1000
"""The length of the log, in pages, at which it is copied: SQLite's default."""
WAIT_MS = 500
"""How long to wait for readers: a read takes milliseconds, and other processes wait for the checkpoint."""


class Checkpointer:
    """Checkpoints the write-ahead log of a connection that writes."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._pages, self._threshold = 0, PAGES_MAX
        connection.set_wal_hook(self._note_pages)  # Replaces SQLite's own checkpoints.

    @property
    def due(self) -> bool:
        """Whether the log is long enough to be copied."""
        return self._pages >= self._threshold

    def run(self, connection: apsw.Connection) -> None:
        """Copy the log into the file. If that fails nothing is lost, and it is tried again when the log has grown."""
        connection.set_busy_timeout(WAIT_MS)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
            self._threshold = PAGES_MAX
        except Exception as error:  # noqa: BLE001 -- a file system in Python may raise anything
            self._threshold = self._pages + PAGES_MAX
            log.get_logger("journal").warning("journal.log_kept", pages=self._pages, reason=str(error))
        finally:
            connection.set_busy_timeout(0)
        self._pages = 0

    def _note_pages(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK
