"""Connections to Postgres: how one is opened, and a link that opens the next one when one breaks.

Nothing is kept in a session: no prepared statements, settings or locks that outlive a transaction. So the connections
may go through a pooler that hands them out per transaction.
"""

import time
from typing import Any, Protocol

import psycopg
from psycopg.abc import RV, PQGen

from runtime.journal.postgres.address import DatabaseAddress

CONNECT_SECONDS = 5
"""How long to wait for a server that is being connected to."""

ANSWER_SECONDS = 10.0
"""How long to wait for an answer; a connection that gives none is given up."""

WAIT_MS = 2000
"""How long a transaction waits for a lock, and how long the server lets one be idle that its client does not end."""

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

LOCAL = (
    f"SELECT set_config('lock_timeout', '{WAIT_MS}', true),"
    f" set_config('idle_in_transaction_session_timeout', '{WAIT_MS}', true),"
    " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)"
)
"""The settings of a transaction. Without the second, a frozen client would keep its locks for ever."""

TRANSACTION_MS = 30_000
"""How long a transaction may last, where the server (from version 17 on) can limit that."""

LOCAL_17 = f"{LOCAL}, set_config('transaction_timeout', '{TRANSACTION_MS}', true)"
"""The same for such servers: a client that freezes while it sends many statements is not idle for the server."""

NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"
VERSION_NOW = "SELECT version FROM replan.journal"

Cursor = psycopg.Cursor[Any]


class Time(Protocol):
    """Tells the time, in UTC seconds since 1970."""

    def now(self) -> float:
        """Return the time."""
        ...


class Connection(psycopg.Connection[Any]):
    """A connection that does not wait for an answer for ever."""

    answer_seconds = ANSWER_SECONDS

    @property
    def local(self) -> str:
        """The statement that begins every transaction with its settings."""
        return LOCAL_17 if self.info.server_version >= 170_000 else LOCAL

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """As in psycopg, with a limit. Raises `OperationalError` where it passes; the connection is closed then."""
        try:
            return super().wait(gen, interval, self.answer_seconds if timeout is None else timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate is not None or self.closed:
                raise
            self.close()
            raise psycopg.OperationalError("the server does not answer") from None


def connect(address: DatabaseAddress, answer_seconds: float = ANSWER_SECONDS) -> Connection:
    """Open a connection. Raises `psycopg.Error`."""
    connection = Connection.connect(
        address.conninfo,
        autocommit=True,
        prepare_threshold=None,
        connect_timeout=CONNECT_SECONDS,
        tcp_user_timeout=5000,
        keepalives=1,
        keepalives_idle=5,
        keepalives_interval=2,
        keepalives_count=3,
        application_name="replan",
        client_encoding="UTF8",
    )
    connection.answer_seconds = answer_seconds
    return connection


class DatabaseLink:
    """One connection at a time, and an estimate of the server's time; used by one thread."""

    def __init__(
        self, address: DatabaseAddress, time_: Time | None = None, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        """Take the address; `time_` replaces the server's clock, for tests."""
        self.address, self.time = address, time_
        self._answer_seconds = answer_seconds
        self._connection: Connection | None = None
        self._ahead: float | None = None

    def connection(self) -> Connection:
        """Return the open connection, or a new one if it is broken. Raises `psycopg.Error`."""
        if self._connection is None or self._connection.closed:
            self._connection = connect(self.address, self._answer_seconds)
        return self._connection

    def close(self) -> None:
        """Close the connection; it is opened again when it is needed."""
        if self._connection is not None:
            self._connection.close()

    @property
    def fixed(self) -> float | None:
        """The time, where the server's clock is replaced."""
        return None if self.time is None else self.time.now()

    def told(self, now: float) -> float:
        """Take the time that the server has just told; return the time that counts."""
        if self.time is not None:
            return self.time.now()
        self._ahead = now - _steady()
        return now

    def estimate(self) -> float:
        """Return about what the server would tell as the time. It costs next to nothing."""
        if self.time is not None:
            return self.time.now()
        return time.time() if self._ahead is None else _steady() + self._ahead


def end(connection: Connection) -> None:
    """End a transaction without a commit, where there is one; a connection that cannot is closed."""
    try:
        if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


def _steady() -> float:
    """Return seconds that no clock that is set changes, and that go on while the machine is suspended."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
