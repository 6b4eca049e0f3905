"""Reading a whole Postgres journal for a check, in one snapshot of the database."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from runtime.core.events import Record
from runtime.core.ledger import Amount
from runtime.journal.chain import Stored, decode, verify
from runtime.journal.inspecting import StoredRun
from runtime.journal.kinds import Codecs, codec_of
from runtime.journal.port import InboxItem
from runtime.journal.postgres import reading
from runtime.journal.postgres.address import Address
from runtime.journal.postgres.connecting import Cursor, Link
from runtime.journal.postgres.failures import explain
from runtime.journal.postgres.schema import check_upgraded, version_of
from runtime.journal.postgres.transaction import snapshot


class PostgresInspection:
    """A journal in one snapshot (`runtime.journal.inspecting.Inspection`)."""

    def __init__(self, cursor: Cursor, codecs: Codecs, now: float) -> None:
        """Take a cursor in an open transaction."""
        self._cursor, self._codecs, self._now, self._texts = cursor, codecs, now, reading.SharedTexts()
        found = cursor.execute("SELECT run, id FROM replan.runs ORDER BY id").fetchall()
        self._numbers: dict[str, int] = dict(found)

    @property
    def runs(self) -> list[str]:
        """As `Inspection.runs`."""
        return [*self._numbers]

    @property
    def lost(self) -> list[str]:
        """Return none: the server's log has no part that could be removed beside its tables."""
        return []

    @property
    def may_lack_deleted(self) -> bool:
        """Return that it may: numbers are also skipped where an admission failed, so that they tell nothing."""
        return True

    def file_problems(self) -> Iterator[str]:
        """Yield none: the constraints of the tables are checked at every change."""
        yield from ()

    def stored(self, run: str) -> StoredRun:
        """As `Inspection.stored`."""
        held = reading.held(self._cursor, run)
        ((due, unread),) = self._select("SELECT due, unread FROM replan.runs WHERE id = %s", run)
        return StoredRun(reading.run_row(self._cursor, run, self._now), held.account, due, unread)

    def check_chain(self, run: str) -> list[Stored]:
        """As `Inspection.check_chain`."""
        held = reading.held(self._cursor, run)
        start, rows = reading.stored_after(self._cursor, held, 0)
        verify(run, start, rows, held.tip)
        return rows

    def records(self, run: str, chained: Sequence[Stored]) -> list[Record[Any]]:
        """As `Inspection.records`."""
        held = reading.held(self._cursor, run)
        codec = codec_of(self._codecs, run, held.kind, held.format)
        texts = self._texts.of(self._cursor, held)
        return decode(codec, run, chained, lambda digest: texts.get(bytes.fromhex(digest)))

    def appends(self, run: str) -> list[int]:
        """As `Inspection.appends`."""
        return [seq for (seq,) in self._select("SELECT seq FROM replan.records WHERE run = %s AND last", run)]

    def inbox(self, run: str) -> list[InboxItem]:
        """As `Inspection.inbox`."""
        return reading.messages_after(self._cursor, run, 0)

    def last_posted(self, run: str) -> int:
        """As `Inspection.last_posted`."""
        return reading.held(self._cursor, run).last_posted

    def spending(self) -> dict[tuple[str, int], Amount]:
        """As `Inspection.spending`."""
        rows = self._cursor.execute("SELECT tenant, day, calls, micro_usd FROM replan.spending").fetchall()
        return {(tenant, day): Amount(calls=calls, micro_usd=micro_usd) for tenant, day, calls, micro_usd in rows}

    def _select(self, statement: str, run: str) -> list[Any]:
        return self._cursor.execute(statement, (self._numbers[run],)).fetchall()


@contextmanager
def open_inspection(address: Address, codecs: Codecs) -> Iterator[PostgresInspection | None]:
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
                yield PostgresInspection(cursor, codecs, now)
    except psycopg.Error as error:
        raise explain(address, error) from error
