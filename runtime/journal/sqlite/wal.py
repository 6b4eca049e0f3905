"""Brings SQLite's write-ahead log into the file: all of it in one go, after the commit that made it long.

Left to itself SQLite copies as far as readers let it, and syncs the file only once it has come to the log's end. If
that sync fails, Linux forgets what it could not write, the pages of earlier goes too. SQLite then copies the last part
again, has it synced, and deletes the log: what the earlier goes had copied is nowhere. So readers are waited for. It is
not for long, as nobody else can write meanwhile: behind one that stands still SQLite goes as far as it can.
"""

import apsw

from runtime.logs import log

PAGES_MAX = 1000
"""How long the log may grow before it is brought into the file; SQLite's own default."""
WAIT_MS = 500
"""How long readers are waited for: a read takes milliseconds, and the other processes of a home wait for this."""


class Log:
    """The write-ahead log behind a connection that writes."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._pages, self._due = 0, PAGES_MAX
        connection.set_wal_hook(self._grown)  # It takes the place of SQLite's own.

    @property
    def long(self) -> bool:
        """Whether it is time to bring it into the file."""
        return self._pages >= self._due

    def bring_in(self, connection: apsw.Connection) -> None:
        """Copy the log into the file. If that fails nothing is lost, and it is tried again when the log has grown."""
        connection.set_busy_timeout(WAIT_MS)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
            self._due = PAGES_MAX
        except Exception as error:  # noqa: BLE001 -- a file system in Python may raise anything
            self._due = self._pages + PAGES_MAX
            log.get_logger("journal").warning("journal.log_kept", pages=self._pages, reason=str(error))
        finally:
            connection.set_busy_timeout(0)
        self._pages = 0

    def _grown(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK
