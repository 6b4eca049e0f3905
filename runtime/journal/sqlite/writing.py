"""Carries out an operation in the SQLite file: reads the rows, calls `decide`, and writes the change.

Everything happens in the caller's transaction. The rows in `agenda`, `unread` and `asked` are computed from the row of
the run, and are written only if they change.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import apsw

from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import RunExists
from runtime.core.ledger import Amount
from runtime.journal import rules
from runtime.journal.chain import Stored, seal
from runtime.journal.head import CHANGING, FIXED, RunHead
from runtime.journal.port import HostRow, InboxItem
from runtime.journal.rules import Change, Locked, RunOperation
from runtime.journal.sqlite import anchors
from runtime.journal.sqlite.anchors import Anchors
from runtime.journal.sqlite.rows import SqliteReader, pack

T = TypeVar("T")


def _marks(columns: str) -> str:
    return ", ".join("?" for _ in columns.split(", "))


_ADMIT = f"INSERT INTO runs (id, {FIXED}, {CHANGING}) VALUES (?, {_marks(FIXED)}, {_marks(CHANGING)})"  # noqa: S608
_UPDATE = f"UPDATE runs SET {CHANGING.replace(',', ' = ?,')} = ? WHERE id = ?"  # noqa: S608 -- names of our own
_UPDATE_BUT_OWNER = _UPDATE.replace("owner = ?, ", "")  # Otherwise SQLite also updates the index of owners.
_EXISTS = "SELECT EXISTS (SELECT 1 FROM runs WHERE run = ?), (SELECT coalesce(max(id), 0) FROM runs)"
_AGENDA = (
    "INSERT INTO agenda (run, at) VALUES (?, ?) ON CONFLICT (run) DO UPDATE"
    " SET at = excluded.at WHERE at <> excluded.at"
)
_ASK = (
    "INSERT INTO asked (run, questions) VALUES (?, ?) ON CONFLICT (run) DO UPDATE"
    " SET questions = excluded.questions WHERE questions <> excluded.questions"
)
_SPEND = (
    "INSERT INTO spending (tenant, day, calls, micro_usd) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (tenant, day) DO UPDATE SET calls = calls + excluded.calls,"
    " micro_usd = micro_usd + excluded.micro_usd RETURNING calls, micro_usd"
)


def carry_out(
    connection: apsw.Connection, work: RunOperation[T], now: float, budget: HomeBudget, noted: Anchors
) -> Change[T]:
    """Call `decide` of an operation, and write the change. The caller must update the anchors after the commit.

    Raises the errors of `decide`, and also `HomeBudgetSpent`, `RunExists`, `RunNotFound` and `JournalDamaged`.
    """
    reader = SqliteReader(connection, now)
    if work.new is None:
        head = before = reader.head(work.run)
        if work.resumes:
            anchors.check(work.run, noted.get(head.id, work.run), head.tip)
    else:
        head, before = number_run(connection, work.new._replace(created=now, updated=now), noted), None
    message = None if work.key is None else reader.message_under(head, work.key)
    fresh = reader.fresh(head, work.consumes)
    change = work.decide(Locked(head, now, message, fresh))
    if change.head is None:
        return change
    if change.booking is not None:
        for tenant, limits in budget.of(head.placement.tenant).items():
            total = spend(connection, tenant, change.booking.day, change.booking.change)
            rules.check_total(limits, total, change.booking, now)
    put(connection, before, change.head)
    if change.asks is not None:
        ask(connection, head.id, change.asks)
    if change.posted is not None:
        add_message(connection, head, change.posted)
    add_texts(connection, work.texts)
    add_records(connection, head, change.records)
    return change


def number_run(connection: apsw.Connection, new: RunHead, noted: Anchors) -> RunHead:
    """Return the row of a new run, with a number that no run in this file has ever had.

    Raises `RunExists`.
    """
    ((exists, last),) = connection.execute(_EXISTS, (new.run,))
    if exists:
        raise RunExists(new.run)
    return new._replace(id=max(noted.count, last) + 1)


def put(connection: apsw.Connection, before: RunHead | None, head: RunHead) -> None:
    """Write a run's row, and its rows in `agenda` and `unread`. `before` is the old row; None for a new run."""
    if before is None:
        connection.execute(_ADMIT, (head.id, *head.fixed, *head.changing))
    elif before.owner != head.owner:
        connection.execute(_UPDATE, (*head.changing, head.id))
    else:
        connection.execute(_UPDATE_BUT_OWNER, (*head.changing[1:], head.id))
    due = head.summary.due
    if due is None:
        connection.execute("DELETE FROM agenda WHERE run = ?", (head.id,))
    elif before is None or before.summary.due != due:
        connection.execute(_AGENDA, (head.id, due))
    if head.unread:
        connection.execute("INSERT INTO unread (run) VALUES (?) ON CONFLICT DO NOTHING", (head.id,))
    elif before is not None and before.unread:
        connection.execute("DELETE FROM unread WHERE run = ?", (head.id,))


def ask(connection: apsw.Connection, number: int, asks: bytes) -> None:
    """Write the open questions of a run."""
    if asks:
        connection.execute(_ASK, (number, asks))
    else:
        connection.execute("DELETE FROM asked WHERE run = ?", (number,))


def add_message(connection: apsw.Connection, head: RunHead, item: InboxItem) -> None:
    """Write a posted message."""
    row = (head.id, item.inbox, item.key, item.body, item.at, seal(head.run, item))
    connection.execute("INSERT INTO inbox (run, id, key, body, at, seal) VALUES (?, ?, ?, ?, ?, ?)", row)


def add_texts(connection: apsw.Connection, texts: Mapping[bytes, bytes]) -> None:
    """Write the texts that are not stored yet."""
    for row in texts.items():
        connection.execute("INSERT INTO texts (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING", row)


def add_records(connection: apsw.Connection, head: RunHead, rows: Sequence[Stored]) -> None:
    """Write the records of one append."""
    statement = "INSERT INTO events (run, seq, at, epoch, inbox, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?)"
    for row in pack(rows):
        connection.execute(statement, (head.id, *row))


def spend(connection: apsw.Connection, tenant: str, day: int, change: Amount) -> Amount:
    """Add an amount to a tenant's total of a day, and return the new total. The tenant `HOME` stands for all runs."""
    total: Any
    (total,) = connection.execute(_SPEND, (tenant, day, change.calls, change.micro_usd)).fetchall()
    return Amount(calls=total[0], micro_usd=total[1])


def announce(connection: apsw.Connection, row: HostRow, now: float) -> None:
    """Record that a host is present, and delete the hosts whose presence has expired."""
    connection.execute("DELETE FROM hosts WHERE until <= ?", (now,))
    statement = "INSERT OR REPLACE INTO hosts (id, owner, until, kinds) VALUES (?, ?, ?, ?)"
    kinds = None if row.kinds is None else json.dumps(dict(row.kinds))
    connection.execute(statement, (row.host, row.owner, row.until, kinds))


def depart(connection: apsw.Connection, host: str) -> None:
    """Delete a host."""
    connection.execute("DELETE FROM hosts WHERE id = ?", (host,))
