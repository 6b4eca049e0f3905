"""The hosts that are present, in the SQLite file: each function is one statement, in its caller's transaction."""

import json

import apsw

from runtime.journal.kinds import Formats
from runtime.journal.port import HostRow


def announce(connection: apsw.Connection, row: HostRow, now: float) -> None:
    """Enter a host as present, and delete those whose presence has ended."""
    connection.execute("DELETE FROM hosts WHERE until <= ?", (now,))
    statement = "INSERT OR REPLACE INTO hosts (id, owner, until, kinds) VALUES (?, ?, ?, ?)"
    kinds = None if row.kinds is None else json.dumps(dict(row.kinds))
    connection.execute(statement, (row.host, row.owner, row.until, kinds))


def depart(connection: apsw.Connection, host: str) -> None:
    """Delete a host."""
    connection.execute("DELETE FROM hosts WHERE id = ?", (host,))


def present(connection: apsw.Connection, now: float) -> list[HostRow]:
    """Return the hosts whose presence has not ended."""
    rows = connection.execute("SELECT id, owner, until, kinds FROM hosts WHERE until > ? ORDER BY id", (now,))
    return [HostRow(host, owner, until, None if kinds is None else _kinds(kinds)) for host, owner, until, kinds in rows]


def _kinds(stored: str) -> Formats:
    try:
        kinds = json.loads(stored)
    except ValueError:
        return {}  # Damaged: it is not known to drive anything.
    if not isinstance(kinds, dict):
        return {}
    return {kind: format for kind, format in kinds.items() if isinstance(format, int)}
