"""The SQLite schema of a journal, and how its connections are opened.

Event rows have the run's small number instead of its id, and hashes as bytes. Their table is an ordinary one with an
index, not a clustered one: concurrent runs then append to the same last page, so a group commit writes few pages, and
pages fill up. Records that are appended together share a row (`packing`). Texts are stored apart, each once, because
they are large and often repeated.

Lookups among thousands of runs have small tables of their own, so that the run's row, which every append changes, needs
no index for them: `agenda` holds when a run is due, `unread` which runs have unconsumed messages, `spending` the
totals of a day, `hosts` the hosts that are present, `journal` the floor (`runtime.journal.versions`); `cursors` and
`positions` say how far copies of records have got.

A file of an earlier version is upgraded when it is opened for writing. From version 7 on, changes only add, so that the
release before goes on with the file: `journal.oldest` is the earliest version that a program must know.
"""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import apsw

from runtime.core.errors import JournalDamaged, JournalNewer, UsageProblem
from runtime.journal.versions import CODEC

APPLICATION_ID = 0x52504C4E
"""Marks a file as a journal: "RPLN"."""

SQLITE_MIN = "3.51.3"
"""The first SQLite release without the WAL-reset bug, which can damage a journal that two processes write."""

WAL_BYTES_KEPT = 64 * 1024 * 1024
"""The size to which the write-ahead log is truncated after it was longer."""

BUSY_PAUSE = 0.005
"""Seconds between two tries to switch a new file to write-ahead logging."""

FIRST = (
    """CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  created REAL NOT NULL,
  updated REAL NOT NULL,
  last_seq INTEGER NOT NULL,
  last_hash BLOB NOT NULL,
  status TEXT NOT NULL,
  detail TEXT NOT NULL,
  waiting_since REAL,
  next_wake REAL,
  owner TEXT,
  lease_end REAL NOT NULL,
  epoch INTEGER NOT NULL
) STRICT""",
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
)

HOST = (
    *(
        f"ALTER TABLE runs ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0"
        for name in ("calls", "tokens", "micro_usd", "day", "calls_before", "micro_usd_before")
    ),
    "CREATE INDEX owners ON runs (owner) WHERE owner IS NOT NULL",
    """CREATE TABLE agenda (
  run INTEGER PRIMARY KEY REFERENCES runs,
  at REAL NOT NULL
) STRICT""",
    "CREATE INDEX agenda_at ON agenda (at)",
    """CREATE TABLE unread (
  run INTEGER PRIMARY KEY REFERENCES runs
) STRICT""",
    """CREATE TABLE spending (
  day INTEGER PRIMARY KEY,
  calls INTEGER NOT NULL,
  micro_usd INTEGER NOT NULL
) STRICT""",
    "INSERT INTO agenda SELECT id, 0.0 FROM runs WHERE status = 'running' AND last_seq > 0",
    "INSERT INTO agenda SELECT id, next_wake FROM runs WHERE status = 'waiting' AND next_wake IS NOT NULL",
    """INSERT INTO unread SELECT id FROM runs r WHERE status <> 'finished' AND EXISTS (
  SELECT 1 FROM inbox i
  WHERE i.run = r.id AND i.id > (SELECT coalesce(max(inbox), 0) FROM events e WHERE e.run = r.id))""",
)

PACKED: tuple[str, ...] = ()
"""Rows of `events` may hold several records (`packing`). The tables are the same, but old releases cannot read them."""

KINDS = (
    "ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'planning'",
    "ALTER TABLE runs ADD COLUMN format INTEGER NOT NULL DEFAULT 1",
    """CREATE TABLE hosts (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  until REAL NOT NULL
) STRICT, WITHOUT ROWID""",
)

HOST_KINDS = ("ALTER TABLE hosts ADD COLUMN kinds TEXT",)
"""The kinds that a host drives, as JSON; NULL for any, as in the rows of earlier releases."""

CURSORS = (
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

CODECS = (
    "ALTER TABLE runs ADD COLUMN codec INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE hosts ADD COLUMN codec INTEGER NOT NULL DEFAULT 1",
    """CREATE TABLE journal (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  oldest INTEGER NOT NULL,
  floor INTEGER NOT NULL
) STRICT""",
    "INSERT INTO journal (one, oldest, floor) VALUES (1, 7, 1)",
)
"""The codec of each run and host, and what a program must know to use the file."""

WORKERS = (
    "ALTER TABLE runs ADD COLUMN tenant TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0",
    """CREATE TABLE tenant_spending (
  tenant TEXT NOT NULL,
  day INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  micro_usd INTEGER NOT NULL,
  PRIMARY KEY (tenant, day)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE slots (
  provider TEXT NOT NULL,
  host TEXT NOT NULL,
  held INTEGER NOT NULL,
  wanted INTEGER NOT NULL,
  until REAL NOT NULL,
  PRIMARY KEY (provider, host)
) STRICT, WITHOUT ROWID""",
)
"""Whom a run is accounted to, which runs come first, and how many calls each host may have in flight."""

CHANGES = (FIRST, HOST, PACKED, KINDS, HOST_KINDS, CURSORS, CODECS, WORKERS)
"""The statements that each version adds to the one before it. A new file gets all of them in turn.

A change that is added after version `OLDEST` only adds tables, indexes, and columns with a default, since programs of
the release before go on with them; a table that refers to `runs` or `texts` says ON DELETE CASCADE, for they delete.
"""

VERSION = len(CHANGES)

OLDEST = 7
"""The earliest version whose programs can use these tables."""


def open_writer(path: Path, vfs: str | None, busy_seconds: float) -> apsw.Connection:
    """Open the journal for writing; create its tables in a new file, upgrade a file of an earlier version.

    A file that is refused is not changed.

    Raises `JournalNewer`, `JournalDamaged`, `UsageProblem`, and `apsw.Error`.
    """
    if tuple(map(int, apsw.sqlite_lib_version().split("."))) < tuple(map(int, SQLITE_MIN.split("."))):
        raise UsageProblem(f"SQLite {apsw.sqlite_lib_version()} is too old", hint=f"{SQLITE_MIN} or later is needed")
    connection = _open(path, vfs, busy_seconds)
    with _closed_on_error(connection):
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
    """Open a journal that a writer has open already; this connection never writes."""
    connection = _open(path, vfs, busy_seconds)
    with _closed_on_error(connection):
        connection.pragma("query_only", 1)
    return connection


@contextmanager
def _closed_on_error(connection: apsw.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _open(path: Path, vfs: str | None, busy_seconds: float) -> apsw.Connection:
    connection = apsw.Connection(str(path), vfs=vfs)
    with _closed_on_error(connection):
        connection.set_busy_timeout(int(busy_seconds * 1000))
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.pragma("cell_size_check", 1)
        connection.pragma("foreign_keys", 1)
        connection.pragma("mmap_size", 0)
    return connection


def version_of(connection: apsw.Connection, path: Path) -> int:
    """Return the version of the tables, once they are checked, 0 for a new file.

    It is above `VERSION` for tables of a newer release that this one can use too.

    Raises `JournalDamaged`, `JournalNewer`, `apsw.Error`.
    """
    # One statement, because another process may be creating the tables at the same time.
    statement = (
        "SELECT a.*, v.*, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id a, pragma_user_version v"
    )
    ((application, version, tables),) = connection.execute(statement)
    if (application, version, tables) == (0, 0, 0):
        return 0
    if application != APPLICATION_ID:
        raise JournalDamaged(str(path), "a database, but not a journal")
    if version > VERSION and _oldest(connection) > VERSION:
        raise JournalNewer(str(path), version, VERSION)
    _check_tables(connection, path, version)
    return int(version)


def _oldest(connection: apsw.Connection) -> float:
    """Return the earliest version that a program must know to use newer tables; none is early enough without one."""
    try:
        ((oldest,),) = connection.execute("SELECT oldest FROM journal")
    except apsw.SQLError:
        return float("inf")
    return int(oldest)


def _use_wal(connection: apsw.Connection, busy_seconds: float) -> None:
    # SQLite does not wait for the lock here, since two that open a new file at once would wait for each other.
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
        for statement in chain.from_iterable(CHANGES[before:]):
            connection.execute(statement)
        connection.execute("UPDATE journal SET oldest = max(oldest, ?)", (OLDEST,))
        if before == 0:
            connection.execute("UPDATE journal SET floor = ?", (CODEC,))  # No earlier program can be using it.
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", max(before, VERSION))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _check_tables(connection: apsw.Connection, path: Path, version: int) -> None:
    # A trigger that somebody added would run inside every append.
    if not (_tables(connection) == _expected(version) if version <= VERSION else _has_tables(connection)):
        raise JournalDamaged(str(path), "the tables are not the ones that a journal has")


def _has_tables(connection: apsw.Connection) -> bool:
    """Tell whether the tables of a newer release have at least the columns and the indexes of these, and no trigger."""
    with closing(apsw.Connection(":memory:")) as expected:
        for statement in chain.from_iterable(CHANGES):
            expected.execute(statement)
        return _parts(expected) <= _parts(connection) and not connection.execute(_PROGRAMS).fetchall()


_PROGRAMS = "SELECT 1 FROM sqlite_schema WHERE type NOT IN ('table', 'index')"
_PARTS = (
    "SELECT t.name, c.name, c.type, c.pk FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    " UNION ALL SELECT tbl_name, name, sql, 0 FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
)


def _parts(connection: apsw.Connection) -> set[Any]:
    """Return the columns of the tables, and the indexes."""
    return {*connection.execute(_PARTS)}


@cache
def _expected(version: int) -> list[str]:
    # Created and read back, because SQLite rewrites the statement of an altered table.
    with closing(apsw.Connection(":memory:")) as connection:
        for statement in chain.from_iterable(CHANGES[:version]):
            connection.execute(statement)
        return _tables(connection)


def _tables(connection: apsw.Connection) -> list[str]:
    statement = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite^_%' ESCAPE '^'"
    return sorted(sql for (sql,) in connection.execute(statement))
