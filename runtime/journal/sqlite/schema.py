"""The SQLite schema of a journal. This module also opens connections to the file, and translates errors of SQLite.

In rows of `events`, the run's number replaces its longer id, and hashes are stored as bytes. The table `events` has an
ordinary index and is not clustered, so concurrent runs append to the same last page. A group commit then writes few
pages, and pages are filled completely. Records that are appended together share a row
(`runtime.journal.sqlite.rows.pack`). Texts are stored in a table of their own, each text once, because texts are large
and often repeated.

Queries over thousands of runs use small extra tables. So the table of runs, in which every append changes a row, needs
no index for these queries. `agenda` has the time at which each run is due. `unread` has the runs with unconsumed
messages. `asked` has the open questions for lists. `spending` has the totals of each day, for each tenant and for all
runs. `hosts` has the present hosts. `cursors` and `positions` have the numbers of the last records that each cursor has
passed.

The file's `user_version` is the journal's version (`runtime.journal.port.VERSION`). A file of an earlier version is
upgraded when it is opened for writing.
"""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path

import apsw

from runtime.core.errors import JournalBusy, JournalDamaged, JournalError, JournalUnreadable, StorageFull, UsageProblem
from runtime.journal import folder
from runtime.journal.port import VERSION, before_first, check_version

APPLICATION_ID = 0x52504C32
"""The `application_id` that marks a file as a journal: "RPL2"."""

EARLIER_IDS = (0x52504C4E, 0x52504C31)
"""The values of `application_id` in journals of older development versions: "RPLN" and "RPL1"."""

SQLITE_MIN = "3.51.3"
"""The first SQLite release without the WAL-reset bug, which can damage a journal that two processes write."""

WAL_BYTES_KEPT = 64 * 1024 * 1024
"""The size, in bytes, to which SQLite truncates a larger write-ahead log after its content was copied into the
database."""

BUSY_PAUSE = 0.005
"""The pause in seconds between two attempts to switch a new file to write-ahead logging."""

FIRST = (
    """CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  kind TEXT NOT NULL,
  format INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  priority INTEGER NOT NULL,
  created REAL NOT NULL,
  updated REAL NOT NULL,
  last_seq INTEGER NOT NULL,
  last_hash BLOB NOT NULL,
  last_posted INTEGER NOT NULL,
  last_consumed INTEGER NOT NULL,
  status TEXT NOT NULL,
  detail TEXT NOT NULL,
  waiting_since REAL,
  next_wake REAL,
  owner TEXT,
  lease_end REAL NOT NULL,
  epoch INTEGER NOT NULL,
  calls INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0,
  micro_usd INTEGER NOT NULL DEFAULT 0,
  day INTEGER NOT NULL DEFAULT 0,
  calls_before INTEGER NOT NULL DEFAULT 0,
  micro_usd_before INTEGER NOT NULL DEFAULT 0,
  near TEXT NOT NULL DEFAULT ''
) STRICT""",
    "CREATE INDEX owners ON runs (owner) WHERE owner IS NOT NULL",
    """CREATE TABLE inbox (
  run INTEGER NOT NULL REFERENCES runs,
  id INTEGER NOT NULL,
  key TEXT NOT NULL,
  body TEXT NOT NULL,
  at REAL NOT NULL,
  seal BLOB NOT NULL,
  PRIMARY KEY (run, id),
  UNIQUE (run, key)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE events (
  run INTEGER NOT NULL REFERENCES runs,
  seq INTEGER NOT NULL,
  at REAL NOT NULL,
  epoch INTEGER NOT NULL,
  inbox INTEGER,
  body BLOB NOT NULL,
  hash BLOB NOT NULL,
  UNIQUE (run, seq),
  FOREIGN KEY (run, inbox) REFERENCES inbox
) STRICT""",
    "CREATE UNIQUE INDEX consumed ON events (run, inbox) WHERE inbox IS NOT NULL",
    """CREATE TABLE texts (
  hash BLOB NOT NULL UNIQUE,
  text BLOB NOT NULL
) STRICT""",
    """CREATE TABLE agenda (
  run INTEGER PRIMARY KEY REFERENCES runs,
  at REAL NOT NULL
) STRICT""",
    "CREATE INDEX agenda_at ON agenda (at)",
    """CREATE TABLE unread (
  run INTEGER PRIMARY KEY REFERENCES runs
) STRICT""",
    """CREATE TABLE asked (
  run INTEGER PRIMARY KEY REFERENCES runs,
  questions BLOB NOT NULL
) STRICT""",
    """CREATE TABLE spending (
  tenant TEXT NOT NULL,
  day INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  micro_usd INTEGER NOT NULL,
  PRIMARY KEY (tenant, day)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE hosts (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  until REAL NOT NULL,
  kinds TEXT
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE cursors (
  name TEXT PRIMARY KEY,
  owner TEXT,
  until REAL NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE positions (
  cursor TEXT NOT NULL REFERENCES cursors,
  run INTEGER NOT NULL REFERENCES runs,
  seq INTEGER NOT NULL,
  PRIMARY KEY (cursor, run)
) STRICT, WITHOUT ROWID""",
    "CREATE INDEX positions_run ON positions (run)",
)
"""The SQL statements that create the tables of a journal of version 1."""

UPGRADES: tuple[tuple[str, ...], ...] = ()
"""The SQL statements that upgrade a journal: one tuple of statements for each version, from version 2 on."""


def open_writer(path: Path, vfs: str | None, busy_seconds: float) -> apsw.Connection:
    """Open the journal for writing. Create the tables of a new file, and upgrade a file of an earlier version.

    If an error is raised, the file is not changed.

    Raises `JournalNewer`, `JournalDamaged`, `JournalUnreadable`, `UsageProblem`, and `apsw.Error`.
    """
    if tuple(map(int, apsw.sqlite_lib_version().split("."))) < tuple(map(int, SQLITE_MIN.split("."))):
        raise UsageProblem(f"SQLite {apsw.sqlite_lib_version()} is too old", hint=f"{SQLITE_MIN} or later is needed")
    connection = _open(path, vfs, busy_seconds)
    with _close_on_error(connection):
        version = version_of(connection, path)
        _use_wal(connection, busy_seconds)
        connection.pragma("synchronous", "full")
        connection.pragma("fullfsync", 1)  # On macOS an ordinary sync does not reach the disk.
        connection.pragma("journal_size_limit", WAL_BYTES_KEPT)
        if version < VERSION:
            _upgrade(connection, path)
        version_of(connection, path)
    return connection


def open_reader(path: Path, vfs: str | None, busy_seconds: float) -> apsw.Connection:
    """Open a journal for reading only. A writer must have opened it before: only writers create and upgrade it."""
    connection = _open(path, vfs, busy_seconds)
    with _close_on_error(connection):
        connection.pragma("query_only", 1)
    return connection


@contextmanager
def _close_on_error(connection: apsw.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _open(path: Path, vfs: str | None, busy_seconds: float) -> apsw.Connection:
    connection = apsw.Connection(str(path), vfs=vfs)
    with _close_on_error(connection):
        connection.set_busy_timeout(int(busy_seconds * 1000))
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.pragma("cell_size_check", 1)
        connection.pragma("foreign_keys", 1)
        connection.pragma("mmap_size", 0)
    return connection


def version_of(connection: apsw.Connection, path: Path) -> int:
    """Return the journal's version after checking its tables; 0 for a new file. Raises errors of the journal."""
    # One statement, because another process may be creating the tables at the same time.
    statement = (
        "SELECT a.*, v.*, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id a, pragma_user_version v"
    )
    ((application, version, tables),) = connection.execute(statement)
    if (application, version, tables) == (0, 0, 0):
        return 0
    if application in EARLIER_IDS:
        raise before_first(str(path))
    if application != APPLICATION_ID:
        raise JournalDamaged(str(path), "the file is a database, but not a journal")
    check_version(str(path), version)
    # The tables are compared, because a trigger that somebody added would run in every append.
    if version < 1 or _tables(connection) != _expected_schema(version):
        raise JournalDamaged(str(path), "the tables differ from the tables of a journal")
    return int(version)


def is_current(connection: apsw.Connection, path: Path) -> bool:
    """Return whether the journal has this release's version. Raises the errors of `version_of`."""
    return version_of(connection, path) == VERSION


def check_unchanged(connection: apsw.Connection, path: Path) -> None:
    """Raise `JournalNewer` if a newer release has upgraded the open file. The check takes microseconds."""
    check_version(str(path), connection.pragma("user_version"))


def _use_wal(connection: apsw.Connection, busy_seconds: float) -> None:
    # SQLite does not wait for the lock here, because two processes that open a new file could wait for each other.
    for _ in range(int(busy_seconds / BUSY_PAUSE)):
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            time.sleep(BUSY_PAUSE)
        else:
            return
    connection.pragma("journal_mode", "wal")


def _upgrade(connection: apsw.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        before = version_of(connection, path)  # Another process may have upgraded it in the meantime.
        for statement in chain.from_iterable((FIRST, *UPGRADES)[before:]):
            connection.execute(statement)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", VERSION)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@cache
def _expected_schema(version: int) -> list[str]:
    # The tables are created and read back, because SQLite rewrites the statement of an altered table.
    with closing(apsw.Connection(":memory:")) as connection:
        for statement in chain.from_iterable((FIRST, *UPGRADES)[:version]):
            connection.execute(statement)
        return _tables(connection)


def _tables(connection: apsw.Connection) -> list[str]:
    # `slots` was a table of a retired feature. A journal with it is read like any other.
    statement = (
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite^_%' ESCAPE '^'"
        " AND NOT (type = 'table' AND name = 'slots')"
    )
    return sorted(sql for (sql,) in connection.execute(statement))


def explain(path: Path, use_another: str, error: Exception) -> Exception:
    """Return the runtime's error for an error of SQLite or of the system. Any other error is returned unchanged."""
    match error:
        case apsw.FullError():
            return StorageFull(str(path))
        case apsw.IOError() if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE:
            # On a full disk the index of the write-ahead log cannot be created.
            return StorageFull(str(path))
        case apsw.CorruptError() | apsw.NotADBError():
            return JournalDamaged(str(path), str(error))
        case UnicodeDecodeError():
            return JournalDamaged(str(path), "a text in the journal is not valid UTF-8")
        case apsw.BusyError():
            return JournalBusy(str(path))
        case apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError() | apsw.ReadOnlyError():
            return JournalUnreadable(str(path), str(error), folder.access_hint(use_another))
        case apsw.IOError():
            hint = "check the disk for errors, then try again; all committed records are kept"
            return JournalUnreadable(str(path), str(error), hint)
        case apsw.Error():
            return JournalError(f"{path}: {error}")
        case OSError():
            return folder.explain(error, path, use_another)
        case _:
            return error
