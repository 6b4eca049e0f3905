"""Deleting runs from a Postgres journal, with the texts that no other run names, in one transaction."""

from collections.abc import Iterable, Mapping

from runtime.core.errors import RunNotFound
from runtime.journal.head import COLUMNS, RunHead, checked, read_head
from runtime.journal.port import Dead, Deleted
from runtime.journal.postgres.connecting import Cursor
from runtime.journal.rules import check_deletable

_OF_A_RUN = ("named_texts", "asked", "positions", "records", "inbox")
"""The tables with rows of a run, those that refer to others first."""


def delete_runs(cursor: Cursor, runs: Mapping[str, int], now: float, dead: Dead) -> Deleted:
    """Delete runs. Raises as `Journal.delete` does, and the caller ends the transaction without a commit then."""
    held = locked(cursor, runs)
    for run, last_seq in runs.items():
        if run not in held:
            raise RunNotFound(run)
        check_deletable(held[run], last_seq, now, dead)
    numbers = [row.id for row in held.values()]
    named = cursor.execute("SELECT DISTINCT hash FROM replan.named_texts WHERE run = ANY(%s)", (numbers,)).fetchall()
    for table in _OF_A_RUN:
        cursor.execute(f"DELETE FROM replan.{table} WHERE run = ANY(%s)", (numbers,))
    cursor.execute("DELETE FROM replan.runs WHERE id = ANY(%s)", (numbers,))
    unused = (
        "DELETE FROM replan.texts WHERE hash = ANY(%b) AND NOT EXISTS"
        " (SELECT 1 FROM replan.named_texts WHERE named_texts.hash = texts.hash) RETURNING length(text)"
    )
    sizes = cursor.execute(unused, ([digest for (digest,) in named],)).fetchall()
    return Deleted(len(numbers), len(sizes), sum(size for (size,) in sizes))


def locked(cursor: Cursor, runs: Iterable[str]) -> dict[str, RunHead]:
    """Lock the rows of those runs that are there, and return them by their ids."""
    statement = f"SELECT {COLUMNS} FROM replan.runs WHERE run = ANY(%s) ORDER BY id FOR UPDATE"
    return {row.run: row for row in map(checked, map(read_head, cursor.execute(statement, ([*runs],)).fetchall()))}
