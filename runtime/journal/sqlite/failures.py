"""What the errors of SQLite mean, for the user."""

from pathlib import Path

import apsw

from runtime.core.errors import JournalBusy, JournalDamaged, JournalError, JournalUnreadable, StorageFull
from runtime.journal import folder


def explain(path: Path, use_another: str, error: Exception) -> Exception:
    """Return the runtime's error for an error of SQLite or of the system; any other error unchanged."""
    match error:
        case apsw.FullError():
            return StorageFull(str(path))
        case apsw.IOError() if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE:
            # On a full disk the index of the write-ahead log cannot be created.
            return StorageFull(str(path))
        case apsw.CorruptError() | apsw.NotADBError():
            return JournalDamaged(str(path), str(error))
        case UnicodeDecodeError():
            return JournalDamaged(str(path), "a text in it is not UTF-8")
        case apsw.BusyError():
            return JournalBusy(str(path))
        case apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError() | apsw.ReadOnlyError():
            return JournalUnreadable(str(path), str(error), folder.access_hint(use_another))
        case apsw.IOError():
            hint = "look at the disk, then try again; what was acknowledged is kept"
            return JournalUnreadable(str(path), str(error), hint)
        case apsw.Error():
            return JournalError(f"{path}: {error}")
        case OSError():
            return folder.explain(error, path, use_another)
        case _:
            return error
