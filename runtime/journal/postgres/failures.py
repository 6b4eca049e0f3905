"""What the errors of Postgres mean: which pass by themselves, and what a user is told."""

import psycopg
from psycopg import errors

from runtime.core.errors import (
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalUnreachable,
    JournalUnreadable,
    StorageFull,
)
from runtime.journal.postgres.address import DatabaseAddress

_PASSING = frozenset(
    {
        *("40001", "40P01", "55P03", "25P03"),  # Other transactions were in the way.
        *("57P01", "57P02", "57P03", "53300"),  # The server stops, starts, or has no connection left.
        *("57P05", "25P04"),  # The server has ended a connection that was idle, or a transaction that took too long.
        "23503",  # A text was deleted between its insertion by somebody else and its use here.
    }
)
_UNKNOWN_AFTER_COMMIT = ("08", "57")
_LOST = ("08", "57", "53300")


def passes(error: psycopg.Error) -> bool:
    """Tell whether the transaction may succeed if it is retried."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate in _PASSING or error.sqlstate.startswith("08")


def leaves_unknown(error: psycopg.Error) -> bool:
    """Tell whether a COMMIT that met this error may have been made."""
    return error.sqlstate is None or error.sqlstate.startswith(_UNKNOWN_AFTER_COMMIT)


def explain(address: DatabaseAddress, error: Exception) -> Exception:
    """Return the runtime's error for an error of Postgres; any other error unchanged."""
    if not isinstance(error, psycopg.Error):
        return error
    place, cause = address.place, address.shown(str(error)) or type(error).__name__
    match error:
        case errors.DiskFull() | errors.OutOfMemory():
            return StorageFull(place)
        case errors.LockNotAvailable() | errors.DeadlockDetected() | errors.SerializationFailure():
            return JournalBusy(place)
        case errors.InsufficientPrivilege():
            hint = "use a role with the rights for it: replan home upgrade --help"
            return JournalUnreadable(place, cause, hint)
        case errors.ReadOnlySqlTransaction():
            return JournalUnreadable(place, "this server is read-only", "connect to the primary server")
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.UndefinedColumn():
            return JournalDamaged(place, f"the tables are not the ones that a journal has: {cause}")
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return JournalDamaged(place, cause)
        case _ if error.sqlstate is None or error.sqlstate.startswith(_LOST):
            return JournalUnreachable(place, cause)
        case _:
            return JournalError(f"{place}: {cause}")
