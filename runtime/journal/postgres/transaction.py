"""The statements of a group's transaction: locking and reading what its jobs are about, and writing what they changed.

Locks are taken in one order by all processes: texts by hash, runs by number, and the totals of days last. Statements
go to the server together, without waiting for the answer to each; so a group of any size costs three round trips.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from runtime.core.daily_budget import Account, HomeBudget, day_of
from runtime.core.errors import JournalError
from runtime.core.ledger import ZERO, Amount
from runtime.journal.chain import Tip, genesis, seal
from runtime.journal.port import NEW
from runtime.journal.postgres.connecting import BEGIN, LOCAL, NOW, Connection, Cursor, Link
from runtime.journal.postgres.group import Group, NewRun, Work
from runtime.journal.postgres.reading import message
from runtime.journal.postgres.rows import CHANGING, COLUMNS, HeldRow, held_row, unnested

TENANT = ""
"""The tenant whose budget is used: there is one so far."""

CHANNEL = "replan_journal"
"""The channel on which hosts listen."""

_NEW = "run, title, kind, format, created, updated, last_hash"
_ADMIT = (
    f"INSERT INTO replan.runs ({_NEW}, status, detail, unread, last_seq, last_posted, last_consumed, lease_end, epoch,"
    " calls, tokens, micro_usd, day, calls_before, micro_usd_before) SELECT run, title, kind, format, now, now, hash,"
    " 'running', '', false, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM {rows} AS new (run, title, kind, format, hash),"
    " (SELECT coalesce(%s, extract(epoch FROM clock_timestamp()))::float8 AS now) AS clock"
    " ON CONFLICT (run) DO NOTHING RETURNING run, id"
)
_KEYED = (
    "SELECT run, id, key, body, at, seal FROM replan.inbox JOIN {rows} AS asked (name, asked_key) ON true"
    " WHERE run = (SELECT id FROM replan.runs WHERE runs.run = name) AND sha256(key) = sha256(asked_key)"
)
_CONSUMABLE = (
    "SELECT posted.run, posted.id, NOT EXISTS (SELECT 1 FROM replan.records WHERE records.run = posted.run"
    " AND records.inbox = posted.id) FROM {rows} AS asked (name, number) JOIN replan.inbox AS posted"
    " ON posted.id = number AND posted.run = (SELECT id FROM replan.runs WHERE runs.run = name)"
)
_UPDATE = (
    f"UPDATE replan.runs SET {', '.join(f'{name} = new.{name}' for name in CHANGING)} FROM {{rows}} AS new"
    f" (id, old_epoch, old_seq, {', '.join(CHANGING)})"
    " WHERE runs.id = new.id AND runs.epoch = old_epoch AND runs.last_seq = old_seq"
)
_SPEND = (
    "INSERT INTO replan.spending AS total VALUES (%(tenant)s, %(day)s, %(calls)s, %(micro)s)"
    " ON CONFLICT (tenant, day) DO UPDATE SET calls = total.calls + excluded.calls,"
    " micro_usd = total.micro_usd + excluded.micro_usd"
    " WHERE (%(most_calls)s::bigint IS NULL OR total.calls <= %(most_calls)s)"
    " AND (%(most_micro)s::bigint IS NULL OR total.micro_usd <= %(most_micro)s)"
)
_MARK = (
    "INSERT INTO replan.writers (id, last) VALUES (%s, %s)"
    " ON CONFLICT (id) DO UPDATE SET last = excluded.last, at = clock_timestamp()"
)
_MARKED = (
    "INSERT INTO replan.writers (id, last) VALUES (%s, 0)"
    " ON CONFLICT (id) DO UPDATE SET last = writers.last RETURNING last"
)


class OverBudgetError(Exception):
    """A day's total would exceed a limit: the group decides again with the totals locked."""


def lock(link: Link, works: Sequence[Work[Any]], budget: HomeBudget, *, exact: bool) -> Group:
    """Begin a transaction, lock and read what the jobs are about, and return the group. Raises `psycopg.Error`.

    With `exact`, the totals of the days are locked too.
    """
    connection = link.connection()
    texts = {digest: text for work in works for digest, text in work.texts.items()}
    new = {work.new.run: work.new for work in works if work.new is not None}
    names = {run for work in works for run in work.runs}
    keys = {(run, work.key.encode()) for work in works for run in work.runs if work.key is not None}
    inboxes = {
        (run, entry.inbox) for work in works for run in work.runs for entry in work.entries if entry.inbox is not None
    }
    with connection.pipeline():
        connection.execute(BEGIN)
        connection.execute(LOCAL)
        if texts:
            rows, values = unnested(sorted(texts.items()), ("bytea", "bytea"))
            connection.execute(f"INSERT INTO replan.texts SELECT * FROM {rows} ON CONFLICT DO NOTHING", values)
        held = _asked(
            connection, f"SELECT {COLUMNS} FROM replan.runs WHERE run = ANY(%s) ORDER BY id FOR UPDATE", names
        )
        admitted = None
        if new:
            fresh = [(*run, genesis(run.kind, run.format)) for run in new.values()]
            rows, values = unnested(fresh, ("text", "text", "text", "integer", "bytea"))
            admitted = connection.execute(_ADMIT.format(rows=rows), [*values, link.fixed])
        keyed = _for_rows(connection, _KEYED, keys, ("text", "bytea"))
        consumable = _for_rows(connection, _CONSUMABLE, inboxes, ("text", "bigint"))
        clock = connection.execute(NOW)
    group = Group(link.told(float(_only(clock))), budget)
    group.runs = {row.run: row for row in map(held_row, held.fetchall() if held else ())}
    for run, number in admitted.fetchall() if admitted else ():
        group.admitted[run] = _new_row(number, new[run], group.now)
    names_of = {row.id: row.run for row in group.runs.values()}
    for number, *stored in keyed.fetchall() if keyed else ():
        item = message(names_of[number], stored)
        group.messages[number, item.key] = item
    group.fresh = {(number, inbox): free for number, inbox, free in (consumable.fetchall() if consumable else ())}
    if exact:
        group.totals = _locked_totals(
            connection, {day_of(group.now), *(row.account.day for row in group.runs.values())}
        )
    return group


def write(connection: Connection, group: Group, writer: bytes, number: int) -> None:
    """Write what the jobs have changed; `number` marks the transaction as this writer's. Nothing is committed yet.

    Raises `OverBudgetError`, `JournalError` where a row is not as it was locked, `psycopg.Error`.
    """
    by_number = {row.id: row for row in group.runs.values()}
    changed = [(number, *was, *by_number[number].changing()) for number, was in sorted(group.changed.items())]
    posted = [(number, *_posted(run, item)) for number, run, item in group.posted]
    records = [(number, *row[:4], last, *row[4:]) for number, row, last in group.records]
    with connection.pipeline(), connection.cursor() as cursor:
        update = _for_rows(connection, _UPDATE, changed, ("bigint", "bigint", "bigint", *CHANGING.values()))
        _insert(cursor, "inbox", posted, ("bigint", "bigint", "bytea", "bytea", "float8", "bytea"))
        kinds = ("bigint", "bigint", "float8", "bigint", "bigint", "boolean", "bytea", "bytea")
        _insert(cursor, "records", records, kinds)
        _insert(cursor, "named_texts", sorted(group.named), ("bytea", "bigint"), " ON CONFLICT DO NOTHING")
        for statement in group.statements:
            statement(cursor)
        if group.wakes:
            cursor.execute(f"NOTIFY {CHANNEL}")
        mark(cursor, writer, number)
        spent = [_spend(connection, group, day, amount) for day, amount in sorted(group.booked.items())]
    if update is not None and update.rowcount != len(changed):
        raise JournalError("a run changed while it was locked")
    if any(cursor.rowcount == 0 for cursor in spent):
        raise OverBudgetError


def mark(cursor: Cursor, writer: bytes, number: int) -> None:
    """Mark the transaction: from the mark the writer can tell later whether it was committed."""
    cursor.execute(_MARK, (writer, number))


def marked(connection: Connection, writer: bytes) -> int:
    """Return the number of the writer's last committed transaction. It waits for one that has not ended yet.

    Raises `psycopg.Error`.
    """
    with connection.pipeline():
        connection.execute(BEGIN)
        connection.execute(LOCAL)
        last = connection.execute(_MARKED, (writer,))
        connection.execute("ROLLBACK")
    return int(_only(last))


def _spend(connection: Connection, group: Group, day: int, amount: Amount) -> Cursor:
    most_calls, most_micro = None, None
    if group.totals is None:
        raised, limited = group.raised.get(day, ZERO), group.limited.get(day, ZERO)
        if group.budget.calls is not None and limited.calls:
            most_calls = group.budget.calls - raised.calls
        if group.budget.micro_usd is not None and limited.micro_usd:
            most_micro = group.budget.micro_usd - raised.micro_usd
        if min(most_calls or 0, most_micro or 0) < 0:
            raise OverBudgetError  # Even on a day without a row.
    named = {"tenant": TENANT, "day": day, "calls": amount.calls, "micro": amount.micro_usd}
    return connection.execute(_SPEND, named | {"most_calls": most_calls, "most_micro": most_micro})


def _locked_totals(connection: Connection, days: Iterable[int]) -> dict[int, Amount]:
    rows, values = unnested([(TENANT, day) for day in sorted(days)], ("text", "bigint"))
    with connection.pipeline():
        connection.execute(
            f"INSERT INTO replan.spending SELECT *, 0, 0 FROM {rows} ON CONFLICT DO NOTHING",
            values,
        )
        statement = (
            "SELECT day, calls, micro_usd FROM replan.spending WHERE tenant = %s AND day = ANY(%s::bigint[])"
            " ORDER BY day FOR UPDATE"
        )
        totals = connection.execute(statement, (TENANT, values[1]))
    return {day: Amount(calls=calls, micro_usd=micro_usd) for day, calls, micro_usd in totals.fetchall()}


def _new_row(number: int, new: NewRun, now: float) -> HeldRow:
    tip = Tip(0, genesis(new.kind, new.format))
    return HeldRow(number, new.run, new.kind, new.format, now, NEW, tip, 0, 0, None, 0.0, 0, Account())


def _posted(run: str, item: Any) -> tuple[Any, ...]:
    return item.inbox, item.key.encode(), item.body.encode(), item.at, seal(run, item)


def _asked(connection: Connection, statement: str, names: Iterable[str]) -> Cursor | None:
    asked = sorted(names)
    return connection.execute(statement, (asked,)) if asked else None


def _for_rows(
    connection: Connection, statement: str, rows: Iterable[Sequence[Any]], types: Sequence[str]
) -> Cursor | None:
    """Run a statement about rows, which it names as `{rows}`; None where there are none."""
    listed = list(rows)
    if not listed:
        return None
    expression, values = unnested(listed, types)
    return connection.execute(statement.format(rows=expression), values)


def _insert(cursor: Cursor, table: str, rows: Sequence[Sequence[Any]], types: Sequence[str], then: str = "") -> None:
    if rows:
        expression, values = unnested(rows, types)
        cursor.execute(f"INSERT INTO replan.{table} SELECT * FROM {expression}{then}", values)


def _only(cursor: Cursor) -> Any:
    return cursor.fetchall()[0][0]


__all__ = ["CHANNEL", "TENANT", "OverBudgetError", "lock", "mark", "marked", "write"]
