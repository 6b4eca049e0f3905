"""Bringing a SQLite journal to this release: its tables, and its floor."""

import time
from pathlib import Path

from runtime.journal.port import Dead
from runtime.journal.sqlite import codecs, statements
from runtime.journal.sqlite.schema import VERSION, version_of
from runtime.journal.sqlite.transfer import open_transfer
from runtime.journal.versions import CODEC, Host, Versions, check_raisable


def upgrade(path: Path, dead: Dead, use_another: str, *, tables_only: bool) -> Versions:
    """Upgrade a file that exists and return what it is on. Unless only the tables are upgraded, the floor is raised.

    Raises as `open_transfer` does, and `UsageProblem` for a floor that a host does not know.
    """
    now = time.time()
    with open_transfer(path, now, use_another, make=False) as transfer, transfer.changing() as connection:
        floor = codecs.floor(connection)
        if not tables_only and floor < CODEC:
            present = statements.present(connection, now)
            check_raisable(str(path), [Host(each.owner, each.codec) for each in present if not dead(each.owner)], CODEC)
            connection.execute("UPDATE journal SET floor = ?", (CODEC,))
            floor = CODEC
        return Versions(max(VERSION, version_of(connection, path)), floor)
