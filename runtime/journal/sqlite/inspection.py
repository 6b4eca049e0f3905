"""Reading a whole journal for a check: what is stored, in one snapshot of the file, and without changing it.

A file of an earlier version is read from a copy that was upgraded. Nothing is repaired, and what cannot be read raises
`JournalDamaged`, for the run that it belongs to.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw

from runtime.journal.chain import Stored
from runtime.journal.head import RunHead
from runtime.journal.raw import Inspection
from runtime.journal.sqlite import anchors, schema
from runtime.journal.sqlite.anchors import Anchor, open_anchors
from runtime.journal.sqlite.failures import explain
from runtime.journal.sqlite.rows import SqliteReader

BUSY_SECONDS = 10.0
"""How long to wait for another process that is writing."""


class Noted(NamedTuple):
    """The anchors of a journal at one time."""

    anchors: dict[int, Anchor]
    """The anchors by the numbers of their runs."""
    slots: int | None
    """The highest number that has a slot; None for a journal without anchors."""

    def of(self, head: RunHead) -> Anchor | None:
        """Return the anchor of a run."""
        anchor = self.anchors.get(head.id)
        return anchor if anchor is not None and anchor.run == head.run else None

    def check_end(self, head: RunHead, rows: Sequence[Stored]) -> None:
        """As `Inspection.check_end`, by the run's anchor."""
        anchor = self.of(head)
        anchors.check(head.run, anchor, head.tip)
        if anchor is not None and 0 < anchor.tip.seq <= len(rows):
            anchors.check(head.run, anchor, anchor.tip._replace(hash=rows[anchor.tip.seq - 1].hash))

    def last_posted(self, head: RunHead) -> int:
        """As `Inspection.last_posted`, by the run's row and its anchor."""
        anchor = self.of(head)
        return max(head.last_posted, 0 if anchor is None else anchor.inbox)


@contextmanager
def open_inspection(path: Path, now: float, use_another: str) -> Iterator[Inspection]:
    """Open a journal that exists, for reading, in one snapshot. `now` is the time that leases are compared with.

    Raises `JournalDamaged`, `JournalNewer`, `JournalUnreadable`, `JournalBusy`, also from what is read.
    """
    try:
        with open_anchors(path, write=False) as noted:
            # Before the snapshot: a driver may write more meanwhile.
            anchored = Noted(noted.without(()), noted.count if noted.kept else None)
        with closing(schema.open_reader(path, None, BUSY_SECONDS)) as connection:
            if schema.is_current(connection, path):
                yield _inspected(connection, anchored, now)
                return
            with TemporaryDirectory(prefix="replan-") as folder, _upgraded(connection, Path(folder)) as copy:
                yield _inspected(copy, anchored, now)
    except (apsw.Error, OSError) as error:
        meaning = explain(path, use_another, error)
        raise meaning from (None if meaning is error else error)


def _inspected(connection: apsw.Connection, noted: Noted, now: float) -> Inspection:
    connection.execute("BEGIN")
    numbers = {number for (number,) in connection.execute("SELECT id FROM runs")}
    known = numbers | noted.anchors.keys()
    return Inspection(
        SqliteReader(connection, now),
        _problems(connection),
        [anchor.run for number, anchor in noted.anchors.items() if number not in numbers],
        # Numbers are missing, or nothing tells whether the last ones are.
        may_lack_deleted=noted.slots is None or len(known) < max(noted.slots, *known, 0),
        found=lambda head: _found(connection, head.id),
        check_end=noted.check_end,
        last_posted=noted.last_posted,
    )


def _problems(connection: apsw.Connection) -> Iterator[str]:
    """Yield what SQLite finds wrong with the file, one line for each problem."""
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield str(line).splitlines()[0]
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"a row of {table} ({row}) belongs to no row of {parent}"


def _found(connection: apsw.Connection, number: int) -> tuple[float | None, bool]:
    """Return a run's time in the agenda, and whether it is listed with unread messages."""
    agenda = [at for (at,) in connection.execute("SELECT at FROM agenda WHERE run = ?", (number,))]
    unread = [*connection.execute("SELECT 1 FROM unread WHERE run = ?", (number,))]
    return (agenda[0] if agenda else None), bool(unread)


@contextmanager
def _upgraded(source: apsw.Connection, folder: Path) -> Iterator[apsw.Connection]:
    """Copy a journal of an earlier version, as it is now, and yield a connection to the upgraded copy."""
    path = folder / "journal"
    with closing(apsw.Connection(str(path))) as copy, copy.backup("main", source, "main") as backup:
        backup.step()
    with closing(schema.open_writer(path, None, BUSY_SECONDS)) as upgraded:
        yield upgraded
