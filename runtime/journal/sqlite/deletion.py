"""Deleting runs from the SQLite file, with the texts that no other run names.

The file does not shrink: the room is used again. Which texts are still named follows from the events of all other runs.
They are read once, in a snapshot, while other processes write. The transaction that deletes, for which those wait, only
reads the events that were added since.

The anchors of the runs are cleared, durably, before the commit. If the process dies in between, the runs are there and
have no anchors until their next records; a run that is gone never has one, so its id can be admitted again.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import apsw

from runtime.journal.chain import Tip
from runtime.journal.deletion import named_texts
from runtime.journal.port import Dead, Deleted
from runtime.journal.rules import check_deletable
from runtime.journal.sqlite.anchors import Anchors
from runtime.journal.sqlite.rows import SqliteReader

_OF_A_RUN = ("agenda", "unread", "asked", "positions", "events", "inbox")
"""The tables with rows of a run, those that refer to others first."""


class Survey(NamedTuple):
    """What one snapshot of the file says about the texts of runs that are to be deleted."""

    named: frozenset[bytes]
    """The texts that these runs name, by hash."""
    kept: frozenset[bytes]
    """Those of them that other runs name too."""
    tips: dict[int, Tip]
    """The ends of the other runs' chains, by the number of the run."""


def survey(connection: apsw.Connection, runs: Collection[str]) -> Survey:
    """Read, in a snapshot that the caller has begun, which texts of runs others name. Raises `RunNotFound`."""
    reader = SqliteReader(connection, 0.0)
    numbers = {reader.head(run).id for run in runs}
    named = named_texts(body for number in numbers for body in _bodies(connection, number))
    tips = {number: tip for number, tip in _tips(connection) if number not in numbers}
    kept = named & named_texts(_bodies_of_others(connection, numbers)) if named else set[bytes]()
    return Survey(frozenset(named), frozenset(kept), tips)


def delete_runs(
    connection: apsw.Connection,
    runs: Mapping[str, int],
    now: float,
    dead: Dead,
    surveyed: Survey,
    *,
    anchors: Anchors,
) -> Deleted:
    """Delete runs, of which `surveyed` tells what a snapshot of this file says, in a transaction that has begun.

    Raises as `Journal.delete` does, and then changes nothing.
    """
    heads = [SqliteReader(connection, now).head(run) for run in runs]
    for head in heads:
        check_deletable(head, runs[head.run], now, dead)
    numbers = [head.id for head in heads]
    unused = surveyed.named - surveyed.kept
    if unused:
        unused -= named_texts(_added_since(connection, surveyed, frozenset(numbers)))
    for number in numbers:
        for table in _OF_A_RUN:
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (number,))  # noqa: S608 -- names of our own
        connection.execute("DELETE FROM runs WHERE id = ?", (number,))
    texts, size = 0, 0
    for digest in unused:
        for (length,) in connection.execute("DELETE FROM texts WHERE hash = ? RETURNING length(text)", (digest,)):
            texts, size = texts + 1, size + int(length)
    anchors.clear(numbers)
    return Deleted(len(numbers), texts, size)


def _added_since(connection: apsw.Connection, surveyed: Survey, deleted: Collection[int]) -> Iterator[bytes]:
    """Yield the events that the survey has not seen, of runs that are not deleted."""
    for number, tip in list(_tips(connection)):
        before = surveyed.tips.get(number)
        if number in deleted or tip == before:
            continue
        # A number may have been given again meanwhile, to another run.
        same = before is not None and _has(connection, number, before)
        yield from _bodies(connection, number, after=before.seq if before is not None and same else 0)


def _tips(connection: apsw.Connection) -> Iterator[tuple[int, Tip]]:
    for number, seq, digest in connection.execute("SELECT id, last_seq, last_hash FROM runs"):
        yield number, Tip(seq, bytes(digest))


def _has(connection: apsw.Connection, number: int, tip: Tip) -> bool:
    rows = connection.execute("SELECT hash FROM events WHERE run = ? AND seq = ?", (number, tip.seq))
    return [bytes(digest) for (digest,) in rows] == [tip.hash]


def _bodies(connection: apsw.Connection, number: int, after: int = 0) -> Iterator[bytes]:
    for (body,) in connection.execute("SELECT body FROM events WHERE run = ? AND seq > ?", (number, after)):
        yield bytes(body)


def _bodies_of_others(connection: apsw.Connection, numbers: Collection[int]) -> Iterator[bytes]:
    for number, body in connection.execute("SELECT run, body FROM events"):
        if number not in numbers:
            yield bytes(body)
