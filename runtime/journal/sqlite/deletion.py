"""Deleting runs from the SQLite file, with the texts that no other run names.

The file does not shrink: the room is used again. All of it is one transaction, which reads the events of the other runs
once, so other processes wait for seconds where there are millions of them.

The anchors of the runs are cleared, durably, before the commit. If the process dies in between, the runs are there and
have no anchors until their next records; a run that is gone never has one, so its id can be admitted again.
"""

from collections.abc import Iterator, Mapping

import apsw

from runtime.core.errors import SequenceConflict
from runtime.journal.deletion import named_texts
from runtime.journal.holding import check_free
from runtime.journal.port import Dead, Deleted
from runtime.journal.sqlite import statements
from runtime.journal.sqlite.anchors import Anchors

_OF_A_RUN = ("agenda", "unread", "positions", "events", "inbox")
"""The tables with rows of a run, those that refer to others first."""


def delete_runs(
    connection: apsw.Connection, runs: Mapping[str, int], now: float, dead: Dead, anchors: Anchors
) -> Deleted:
    """Delete runs. Raises as `Journal.delete` does, and then changes nothing."""
    numbers = []
    for run, last_seq in runs.items():
        held = statements.lease(connection, run)
        check_free(run, held.owner, held.end, now, dead)
        if held.tip.seq != last_seq:
            raise SequenceConflict(run, last_seq, held.tip.seq)
        numbers.append(held.id)
    named = named_texts(body for number in numbers for body in _bodies(connection, number))
    for number in numbers:
        for table in _OF_A_RUN:
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (number,))  # noqa: S608 -- names of our own
        connection.execute("DELETE FROM runs WHERE id = ?", (number,))
    unused = named - named_texts(_all_bodies(connection)) if named else set()
    texts, size = 0, 0
    for digest in unused:
        for (length,) in connection.execute("DELETE FROM texts WHERE hash = ? RETURNING length(text)", (digest,)):
            texts, size = texts + 1, size + int(length)
    anchors.clear(numbers)
    return Deleted(len(numbers), texts, size)


def _bodies(connection: apsw.Connection, number: int) -> Iterator[bytes]:
    for (body,) in connection.execute("SELECT body FROM events WHERE run = ?", (number,)):
        yield bytes(body)


def _all_bodies(connection: apsw.Connection) -> Iterator[bytes]:
    for (body,) in connection.execute("SELECT body FROM events"):
        yield bytes(body)
