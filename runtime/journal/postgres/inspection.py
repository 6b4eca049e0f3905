"""Reading a whole Postgres journal for a check, in one snapshot of the database."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg

from runtime.journal.postgres.address import Address
from runtime.journal.postgres.connecting import Link
from runtime.journal.postgres.failures import explain
from runtime.journal.postgres.reading import PostgresReader
from runtime.journal.postgres.schema import check_upgraded, version_of
from runtime.journal.postgres.transaction import snapshot
from runtime.journal.raw import Inspection


@contextmanager
def open_inspection(address: Address) -> Iterator[Inspection | None]:
    """Open a journal for reading in one snapshot; None where the database has no journal.

    Raises `JournalNewer`, `JournalUnreadable`, `JournalUnreachable`, `JournalDamaged`.
    """
    try:
        with closing(Link(address)) as link:
            version = version_of(link.connection(), address.place)
            if version == 0:
                yield None
                return
            check_upgraded(version, address.place)
            with snapshot(link) as (cursor, now):
                # The constraints of the tables are checked at every change, and the server's log has no part that could
                # be removed beside its tables. Numbers are also skipped where an admission failed: they tell nothing.
                found = {run: taken_up for run, *taken_up in cursor.execute("SELECT id, due, unread FROM replan.runs")}
                yield Inspection(PostgresReader(cursor, now), found=lambda head: found[head.id])
    except psycopg.Error as error:
        raise explain(address, error) from error
