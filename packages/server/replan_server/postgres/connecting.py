"""Opens connections to Postgres, and replaces broken connections.

No prepared statement, setting or lock lasts longer than one transaction. So connections may go through a pooler that
assigns connections per transaction.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import psycopg
from psycopg import errors
from psycopg.abc import RV, PQGen

from replan_server.postgres.address import DatabaseAddress
from runtime.core.errors import (
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalUnreachable,
    JournalUnreadable,
    StorageFull,
)

CONNECT_SECONDS = 5
"""How long to wait for a connection to a database server, in seconds."""

ANSWER_SECONDS = 10.0
"""How long to wait for the database server's answer to a message, in seconds. If no answer comes in this time, the
connection is closed."""

WAIT_MS = 2000
"""For how many milliseconds a statement may wait for a lock, and an open transaction may be idle."""

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

LOCAL = (
    f"SELECT set_config('lock_timeout', '{WAIT_MS}', true),"
    f" set_config('idle_in_transaction_session_timeout', '{WAIT_MS}', true),"
    " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)"
)
"""The SQL statement that sets the options of a transaction. Without the time limit for idle transactions, a frozen
client would keep its locks forever."""

TRANSACTION_MS = 30_000
"""The time limit of a transaction in milliseconds. Only Postgres servers of version 17 and later support such a
limit."""

LOCAL_17 = f"{LOCAL}, set_config('transaction_timeout', '{TRANSACTION_MS}', true)"
"""The same statement as `LOCAL`, with a time limit for the whole transaction. It also ends the transaction of a client
that freezes while sending statements.
"""

NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"
VERSION_NOW = "SELECT version FROM replan.journal"

Cursor = psycopg.Cursor[Any]


class Time(Protocol):
    """Returns the time, in UTC seconds since 1970."""

    def now(self) -> float:
        """Return the time."""


class Connection(psycopg.Connection[Any]):
    """A connection whose waits for answers have a time limit."""

    answer_seconds = ANSWER_SECONDS

    @property
    def local(self) -> str:
        """The statement that begins every transaction: it sets the settings of this transaction."""
        return LOCAL_17 if self.info.server_version >= 170_000 else LOCAL

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for an answer until the time limit. Then close the connection, and raise `OperationalError`."""
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
    """A connection that is replaced if it breaks, and an estimate of the server's time.

    All calls must come from one thread.
    """

    def __init__(
        self, address: DatabaseAddress, time_: Time | None = None, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        """Store the address. `time_` replaces the server's clock, for tests."""
        self.address, self.time = address, time_
        self._answer_seconds = answer_seconds
        self._connection: Connection | None = None
        self._ahead: float | None = None

    def connection(self) -> Connection:
        """Return the open connection, or a new connection if the old one is broken. Raises `psycopg.Error`."""
        if self._connection is None or self._connection.closed:
            self._connection = connect(self.address, self._answer_seconds)
        return self._connection

    def close(self) -> None:
        """Close the connection. The next use of the link opens a new one."""
        if self._connection is not None:
            self._connection.close()

    @property
    def fixed(self) -> float | None:
        """The time of the clock that replaces the server's clock; None if the server's clock is used."""
        return None if self.time is None else self.time.now()

    def take_time(self, now: float) -> float:
        """Store and return the server's time. If a clock replaces the server's clock, return the time of that clock."""
        if self.time is not None:
            return self.time.now()
        self._ahead = now - _steady()
        return now

    def estimate(self) -> float:
        """Return an estimate of the server's time, without asking the server."""
        if self.time is not None:
            return self.time.now()
        return time.time() if self._ahead is None else _steady() + self._ahead


def roll_back(connection: Connection) -> None:
    """Roll back the open transaction, if there is one. Close the connection if the rollback fails."""
    try:
        if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


def _steady() -> float:
    """Return the seconds of a clock that nobody can set, and that also runs while the machine is suspended."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


_PASSING = frozenset(
    {
        *("40001", "40P01", "55P03", "25P03"),  # Other transactions were in the way.
        *("57P01", "57P02", "57P03", "53300"),  # The server stops, starts, or has no connection left.
        *("57P05", "25P04"),  # The server has ended a connection that was idle, or a transaction that took too long.
        "23503",  # Somebody else inserted a text, and it was deleted before its use here.
    }
)
_UNKNOWN_AFTER_COMMIT = ("08", "57")
_LOST = ("08", "57", "53300")


def is_passing(error: psycopg.Error) -> bool:
    """Return whether an error is temporary: the same transaction may succeed if it is tried again."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate in _PASSING or error.sqlstate.startswith("08")


def leaves_unknown(error: psycopg.Error) -> bool:
    """Return whether a COMMIT that failed with this error may have succeeded."""
    return error.sqlstate is None or error.sqlstate.startswith(_UNKNOWN_AFTER_COMMIT)


def explain(address: DatabaseAddress, error: Exception) -> Exception:
    """Translate an error of Postgres into an error of the runtime. Any other error is returned unchanged."""
    if not isinstance(error, psycopg.Error):
        return error
    place, cause = address.place, address.message_line(str(error)) or type(error).__name__
    match error:
        case errors.DiskFull() | errors.OutOfMemory():
            return StorageFull(place)
        case errors.LockNotAvailable() | errors.DeadlockDetected() | errors.SerializationFailure():
            return JournalBusy(place)
        case errors.InsufficientPrivilege():
            hint = "use a role with the needed rights; see replan home upgrade --help"
            return JournalUnreadable(place, cause, hint)
        case errors.ReadOnlySqlTransaction():
            return JournalUnreadable(place, "this server is read-only", "connect to the primary server")
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.UndefinedColumn():
            return JournalDamaged(place, f"the tables are not those of a journal: {cause}")
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return JournalDamaged(place, cause)
        case _ if error.sqlstate is None or error.sqlstate.startswith(_LOST):
            return JournalUnreachable(place, cause)
        case _:
            return JournalError(f"{place}: {cause}")


@dataclass(slots=True)
class StatementResult:
    """The result of a statement in a batch. The result is complete after `StatementBatch.run`."""

    rows: list[Any] = field(default_factory=list)
    count: int = 0


class StatementBatch:
    """Collects statements, and runs them in order. The first statement that fails ends the batch."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._cursor = psycopg.ClientCursor[Any](connection)
        self._statements: list[str] = []
        self._answers: list[StatementResult] = []

    def add(self, statement: str, values: Sequence[Any] | dict[str, Any] = ()) -> StatementResult:
        """Add a statement, and return the object that will hold its result.

        Raises `psycopg.Error` for a value without a type.
        """
        self._statements.append(self._cursor.mogrify(statement, values) if values else statement)
        answer = StatementResult()
        self._answers.append(answer)
        return answer

    def add_for(
        self, statement: str, rows: Iterable[Sequence[Any]], types: Sequence[str], *more: Any
    ) -> StatementResult:
        """Add a statement for many rows.

        The rows replace `{rows}` in the statement, and `more` are the values of its other parameters. If there are no
        rows, nothing is added.
        """
        listed = list(rows)
        if not listed:
            return StatementResult()
        columns = [array(kind, column) for kind, column in zip(types, zip(*listed, strict=True), strict=True)]
        arrays = ", ".join(f"%s::{kind}[]" for kind in types)
        return self.add(statement.format(rows=f"unnest({arrays})"), [*columns, *more])

    def run(self) -> None:
        """Send the statements, and receive all answers. Raises `psycopg.Error`."""
        cursor = self._cursor
        cursor.execute("; ".join(self._statements))
        for answer in self._answers:
            answer.count = cursor.rowcount
            answer.rows = cursor.fetchall() if cursor.description is not None else []
            cursor.nextset()


def array(kind: str, values: Sequence[Any]) -> object:
    """Return an array value of a type.

    The value is a text in the server's form if no element needs quoting, otherwise a list.
    """
    match kind:
        case "bigint" | "integer":
            texts = ["NULL" if value is None else str(int(value)) for value in values]
        case "float8":
            texts = ["NULL" if value is None else repr(float(value)) for value in values]
        case "boolean":
            texts = ["NULL" if value is None else "tf"[not value] for value in values]
        case "bytea":
            texts = ["NULL" if value is None else f'"\\\\x{value.hex()}"' for value in values]
        case _:
            return list(values)
    return f"{{{','.join(texts)}}}"
