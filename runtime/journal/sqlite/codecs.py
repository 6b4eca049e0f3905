"""What a SQLite journal says about codecs: its floor, and whether this process can read a run."""

from pathlib import Path

import apsw

from runtime.journal.sqlite import statements
from runtime.journal.sqlite.statements import RunLeaseRow
from runtime.journal.versions import check_floor, check_readable


def floor(connection: apsw.Connection) -> int:
    """Return the codec of new runs."""
    ((codec,),) = connection.execute("SELECT floor FROM journal")
    return int(codec)


def writable_floor(connection: apsw.Connection, path: Path, known: int) -> int:
    """Return the floor. Raises `FloorRaised` where it is above `known`."""
    codec = floor(connection)
    check_floor(str(path), codec, known)
    return codec


def readable(connection: apsw.Connection, run: str, known: int) -> RunLeaseRow:
    """Return the lease of a run of a codec up to `known`. Raises as `statements.lease` does, and `RunNewer`."""
    held = statements.lease(connection, run)
    check_readable(run, held.codec, known)
    return held
