"""Reading a whole journal for a check: what is stored, in one snapshot of the file, and without changing it.

A file of an earlier version is read from a copy that was upgraded. Nothing is repaired, and what cannot be read raises
`JournalDamaged`, for the run that it belongs to.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import apsw

from runtime.core.events import Record
from runtime.core.ledger import Amount
from runtime.journal.chain import Stored, decode, verify
from runtime.journal.inspecting import StoredRun
from runtime.journal.kinds import Codecs, codec_of
from runtime.journal.port import InboxItem
from runtime.journal.sqlite import anchors, schema, statements
from runtime.journal.sqlite.anchors import Anchor, open_anchors
from runtime.journal.sqlite.packing import unpack

BUSY_SECONDS = 10.0
"""How long to wait for another process that is writing."""


class Noted(NamedTuple):
    """The anchors of a journal at one time."""

    anchors: dict[int, Anchor]
    """The anchors by the numbers of their runs."""
    slots: int | None
    """The highest number that has a slot; None for a journal without anchors."""


class SqliteInspection:
    """A journal in one snapshot of its file (`runtime.journal.inspecting.Inspection`)."""

    def __init__(self, connection: apsw.Connection, codecs: Codecs, noted: "Noted", now: float) -> None:
        """Take a connection with an open transaction, and the anchors as they were before it began."""
        self._connection, self._codecs, self._now = connection, codecs, now
        self._anchors, self._slots = noted
        self._numbers: dict[str, int] = dict(connection.execute("SELECT run, id FROM runs ORDER BY id"))

    @property
    def runs(self) -> list[str]:
        """The ids of all runs, in the order of their admission."""
        return [*self._numbers]

    @property
    def lost(self) -> list[str]:
        """The ids of runs that have an anchor, and are not in the journal."""
        known = set(self._numbers.values())
        return [anchor.run for number, anchor in self._anchors.items() if number not in known]

    @property
    def may_lack_deleted(self) -> bool:
        """Whether runs may have been deleted: numbers are missing, or nothing tells whether the last ones are."""
        numbers = set(self._numbers.values()) | self._anchors.keys()
        return self._slots is None or len(numbers) < max(self._slots, *numbers, 0)

    def file_problems(self) -> Iterator[str]:
        """Yield what SQLite finds wrong with the file, one line for each problem."""
        for (line,) in self._connection.execute("PRAGMA integrity_check(20)"):
            if line != "ok":
                yield str(line).splitlines()[0]
        for table, row, parent, _ in self._connection.execute("PRAGMA foreign_key_check"):
            yield f"a row of {table} ({row}) belongs to no row of {parent}"

    def stored(self, run: str) -> StoredRun:
        """Return the rows of a run. Raises `JournalDamaged`."""
        number, held = self._numbers[run], statements.lease(self._connection, run)
        agenda = [at for (at,) in self._select("SELECT at FROM agenda WHERE run = ?", number)]
        unread = bool(self._select("SELECT 1 FROM unread WHERE run = ?", number))
        row = statements.run_row(self._connection, run, self._now)
        return StoredRun(row, held.account, agenda[0] if agenda else None, unread)

    def check_chain(self, run: str) -> list[Stored]:
        """Return the rows of a run's records, verified by their chain and by the run's anchor.

        Raises `JournalDamaged`.
        """
        held = statements.lease(self._connection, run)
        rows = unpack(run, held.start, statements.rows_after(self._connection, held.id, 0))
        verify(run, held.start, rows, held.tip)
        anchor = self._anchor(run)
        anchors.check(run, anchor, held.tip)
        if anchor is not None and 0 < anchor.tip.seq <= len(rows):
            anchors.check(run, anchor, anchor.tip._replace(hash=rows[anchor.tip.seq - 1].hash))
        return rows

    def records(self, run: str, chained: Sequence[Stored]) -> list[Record[Any]]:
        """As `Inspection.records`."""
        held = statements.lease(self._connection, run)
        codec = codec_of(self._codecs, run, held.kind, held.format)
        return decode(codec, run, chained, partial(statements.text, self._connection))

    def appends(self, run: str) -> list[int]:
        """Return the place of the last record of each append."""
        return [seq for (seq,) in self._select("SELECT seq FROM events WHERE run = ? ORDER BY seq", self._numbers[run])]

    def inbox(self, run: str) -> list[InboxItem]:
        """Return the posted messages of a run, verified by their seals. Raises `JournalDamaged`."""
        return statements.posted_after(self._connection, run, self._numbers[run], 0)

    def last_posted(self, run: str) -> int:
        """Return the id of the last message that was posted to a run as its anchor says; 0 where it says nothing."""
        anchor = self._anchor(run)
        return 0 if anchor is None else anchor.inbox

    def spending(self) -> dict[tuple[str, int], Amount]:
        """Return the totals of the days, of all runs and of each tenant."""
        rows = self._connection.execute("SELECT tenant, day, calls, micro_usd FROM spending")
        return {(tenant, day): Amount(calls=calls, micro_usd=micro_usd) for tenant, day, calls, micro_usd in rows}

    def _anchor(self, run: str) -> Anchor | None:
        anchor = self._anchors.get(self._numbers[run])
        return anchor if anchor is not None and anchor.run == run else None

    def _select(self, statement: str, number: int) -> list[Any]:
        return self._connection.execute(statement, (number,)).fetchall()


@contextmanager
def open_inspection(path: Path, codecs: Codecs, now: float, use_another: str) -> Iterator[SqliteInspection]:
    """Open a journal that exists, for reading, in one snapshot. `now` is the time that leases are compared with.

    Raises `JournalDamaged`, `JournalNewer`, `JournalUnreadable`, `JournalBusy`, also from the methods of the value.
    """
    try:
        with open_anchors(path, write=False) as noted:
            # Before the snapshot: a driver may write more meanwhile.
            anchored = Noted(noted.without(()), noted.count if noted.kept else None)
        with closing(schema.open_reader(path, None, BUSY_SECONDS)) as connection:
            if schema.is_current(connection, path):
                yield _inspected(connection, codecs, anchored, now)
                return
            with TemporaryDirectory(prefix="replan-") as folder, _upgraded(connection, Path(folder)) as copy:
                yield _inspected(copy, codecs, anchored, now)
    except (apsw.Error, OSError) as error:
        meaning = statements.explain(path, use_another, error)
        raise meaning from (None if meaning is error else error)


def _inspected(connection: apsw.Connection, codecs: Codecs, anchored: Noted, now: float) -> SqliteInspection:
    connection.execute("BEGIN")
    return SqliteInspection(connection, codecs, anchored, now)


@contextmanager
def _upgraded(source: apsw.Connection, folder: Path) -> Iterator[apsw.Connection]:
    """Copy a journal of an earlier version, as it is now, and yield a connection to the upgraded copy."""
    path = folder / "journal"
    with closing(apsw.Connection(str(path))) as copy, copy.backup("main", source, "main") as backup:
        backup.step()
    with closing(schema.open_writer(path, None, BUSY_SECONDS)) as upgraded:
        yield upgraded
