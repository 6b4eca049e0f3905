"""The statements of a group's transaction: they lock and read the rows that jobs need, and write the changes.

All processes take locks in the same order: texts by hash, runs by number, and then the totals of days. Statements are
sent together, so a group of any size costs three round trips.

Notices wake the hosts, and have no content. A host that misses a notice finds the work when it polls the next time. The
listening connection must not go through a pooler, which would give its session to other clients.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import trio

from replan_server.postgres.address import DatabaseAddress
from replan_server.postgres.connecting import (
    BEGIN,
    BEGIN_SNAPSHOT,
    NOW,
    VERSION_NOW,
    Connection,
    Cursor,
    DatabaseLink,
    StatementBatch,
    StatementResult,
    connect,
    roll_back,
)
from replan_server.postgres.group import Group, TenantDay
from replan_server.postgres.reading import message
from runtime.core.daily_budget import HomeBudget, day_of
from runtime.core.errors import JournalError
from runtime.core.ledger import ZERO, Amount
from runtime.journal.chain import Stored, seal
from runtime.journal.head import CHANGING, COLUMNS, RunHead, check_head, read_head
from runtime.journal.port import InboxItem, check_version
from runtime.journal.rules import RunOperation
from runtime.logs import log

CHANNEL = "replan_journal"

_NEW = "run, title, kind, format, tenant, priority, created, updated"
_ADMIT = (
    f"INSERT INTO replan.runs ({_NEW}, status, detail, unread, last_seq, last_hash, last_posted, last_consumed,"
    " lease_end, epoch, calls, tokens, micro_usd, day, calls_before, micro_usd_before)"
    " SELECT run, title, kind, format, tenant, priority, now, now,"
    " 'running', '', false, 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"
    " FROM {rows} AS new (run, title, kind, format, tenant, priority),"
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
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("status", "detail", "owner", "near"), "text"),
    **dict.fromkeys(("updated", "waiting_since", "next_wake", "lease_end", "due"), "float8"),
    "last_hash": "bytea",
    "unread": "boolean",
}
WRITTEN: Mapping[str, str] = {name: _TYPES.get(name, "bigint") for name in f"{CHANGING}, due, unread".split(", ")}
"""The columns of the table `runs` that a transaction changes, with their types. The columns `due` and `unread` are
those by which hosts search for runs.
"""

_UPDATE = (
    f"UPDATE replan.runs SET {', '.join(f'{name} = new.{name}' for name in WRITTEN)} FROM {{rows}} AS new"
    f" (id, old_epoch, old_seq, {', '.join(WRITTEN)})"
    " WHERE runs.id = new.id AND runs.epoch = old_epoch AND runs.last_seq = old_seq"
)
_ASK = (
    "INSERT INTO replan.asked SELECT * FROM {rows} ON CONFLICT (run) DO UPDATE SET questions = excluded.questions"
    " WHERE asked.questions <> excluded.questions"
)
_SPEND = (
    "INSERT INTO replan.spending AS total VALUES (%(tenant)s, %(day)s, %(calls)s, %(micro)s)"
    " ON CONFLICT (tenant, day) DO UPDATE SET calls = total.calls + excluded.calls,"
    " micro_usd = total.micro_usd + excluded.micro_usd"
    " WHERE (%(most_calls)s::bigint IS NULL OR total.calls <= %(most_calls)s)"
    " AND (%(most_micro)s::bigint IS NULL OR total.micro_usd <= %(most_micro)s)"
)
MARK = (
    "INSERT INTO replan.writers (id, last) VALUES (%s, %s)"
    " ON CONFLICT (id) DO UPDATE SET last = excluded.last, at = clock_timestamp()"
)
"""The statement that stores a writer's number for its transaction. With this number, the writer can find out later
whether the transaction was committed.
"""

_MARKED = (
    "INSERT INTO replan.writers (id, last) VALUES (%s, 0)"
    " ON CONFLICT (id) DO UPDATE SET last = writers.last RETURNING last"
)


_TOTALS = (
    "SELECT tenant, day, calls, micro_usd FROM replan.spending WHERE (tenant, day) IN (SELECT * FROM {rows})"
    " ORDER BY tenant, day FOR UPDATE"
)
INSERT = "INSERT INTO replan.{table} SELECT * FROM {{rows}}"
TEXT = ("bytea", "bytea")
"""The types of the columns of the table `texts`. The constants below have the types of the columns of other tables."""
MESSAGE = ("bigint", "bigint", "bytea", "bytea", "float8", "bytea")
RECORD = ("bigint", "bigint", "float8", "bigint", "bigint", "boolean", "bytea", "bytea")
NAMED = ("bytea", "bigint")
ASKED = ("bigint", "bytea")
_DAY = ("text", "bigint")


class OverBudgetError(Exception):
    """A day's total would exceed a limit. The jobs of the group then decide again with locked totals."""


def lock(link: DatabaseLink, works: Sequence[RunOperation[Any]], budget: HomeBudget, *, exact: bool) -> Group:
    """Begin a transaction, lock and read the rows that the jobs need, and return the group.

    With `exact`, the transaction also locks the totals of the days. Raises `JournalNewer`, `psycopg.Error`.
    """
    texts = {digest: text for work in works for digest, text in work.texts.items()}
    new = {work.new.run: work.new for work in works if work.new is not None}
    names = sorted({work.run for work in works})
    keys = {(work.run, work.key.encode()) for work in works if work.key is not None}
    inboxes = {(work.run, inbox) for work in works for inbox in work.consumes}
    batch = begin_batch(link.connection())
    batch.add_for("INSERT INTO replan.texts SELECT * FROM {rows} ON CONFLICT DO NOTHING", sorted(texts.items()), TEXT)
    held = batch.add(f"SELECT {COLUMNS} FROM replan.runs WHERE run = ANY(%s) ORDER BY id FOR UPDATE", [names])
    fresh = [(run.run, run.title, run.kind, run.format, *run.placement) for run in new.values()]
    admitted = batch.add_for(_ADMIT, fresh, ("text", "text", "text", "integer", "text", "integer"), link.fixed)
    keyed = batch.add_for(_KEYED, keys, ("text", "bytea"))
    consumable = batch.add_for(_CONSUMABLE, inboxes, ("text", "bigint"))
    group = Group(_now(link, batch), budget)
    group.runs = {row.run: row for row in map(check_head, map(read_head, held.rows))}
    for run, number in admitted.rows:
        group.admitted[run] = new[run]._replace(id=number, created=group.now, updated=group.now)
    names_of = {row.id: row.run for row in group.runs.values()}
    for number, *stored in keyed.rows:
        item = message(names_of[number], stored)
        group.messages[number, item.key] = item
    group.fresh = {(number, inbox): free for number, inbox, free in consumable.rows}
    if exact:
        group.totals = _locked_totals(link.connection(), set(_days_of(group)))
    return group


def write(connection: Connection, group: Group, writer: bytes, number: int) -> None:
    """Write the changes of the jobs, without a commit. `writer` and `number` mark the transaction.

    Raises `OverBudgetError`, `psycopg.Error`, and `JournalError` if a row has changed although it was locked.
    """
    by_number = {row.id: row for row in group.runs.values()}
    changed = [(number, *was, *head_values(by_number[number])) for number, was in sorted(group.changed.items())]
    posted = [message_values(*item) for item in group.posted]
    records = [record_row(*record) for record in group.records]
    batch = StatementBatch(connection)
    update = batch.add_for(_UPDATE, changed, ("bigint", "bigint", "bigint", *WRITTEN.values()))
    batch.add_for(INSERT.format(table="inbox"), posted, MESSAGE)
    batch.add_for(INSERT.format(table="records"), records, RECORD)
    batch.add_for(f"{INSERT.format(table='named_texts')} ON CONFLICT DO NOTHING", sorted(group.named), NAMED)
    batch.add_for(_ASK, sorted((number, asks) for number, asks in group.asked.items() if asks), ASKED)
    if closed := [number for number, asks in group.asked.items() if not asks]:
        batch.add("DELETE FROM replan.asked WHERE run = ANY(%s)", [closed])
    if group.wakes:
        batch.add(f"NOTIFY {CHANNEL}")
    batch.add(MARK, [writer, number])
    spent = [_spend(batch, group, key, amount) for key, amount in sorted(group.booked.items())]
    batch.run()
    if update.count != len(changed):
        raise JournalError("a run changed while its row was locked")
    if any(answer.count == 0 for answer in spent):
        raise OverBudgetError


def begin_batch(connection: Connection, begin: str = BEGIN) -> StatementBatch:
    """Return a batch that begins a transaction."""
    batch = StatementBatch(connection)
    batch.add(begin)
    batch.add(connection.local)
    return batch


def begin_alone(link: DatabaseLink) -> float:
    """Begin a transaction for one job, and return the time. Raises `JournalNewer`, `psycopg.Error`."""
    return _now(link, begin_batch(link.connection()))


def _now(link: DatabaseLink, batch: StatementBatch) -> float:
    """Run a batch, and return the time. Raises `JournalNewer` if the journal was upgraded in the meantime."""
    version, clock = batch.add(VERSION_NOW), batch.add(NOW)
    batch.run()
    check_version(link.address.place, int(version.rows[0][0]))
    return link.take_time(float(clock.rows[0][0]))


@contextmanager
def snapshot(link: DatabaseLink) -> Iterator[tuple[Cursor, float]]:
    """Yield a cursor that reads one snapshot of the database, and the time.

    Raises `JournalNewer`, `psycopg.Error`.
    """
    connection = link.connection()
    try:
        now = _now(link, begin_batch(connection, BEGIN_SNAPSHOT))
        with connection.cursor(binary=True) as cursor:
            yield cursor, now
    finally:
        roll_back(connection)


def last_transaction(connection: Connection, writer: bytes) -> int:
    """Wait until no transaction of the writer is open. Then return the number of its last committed transaction.

    Raises `psycopg.Error`.
    """
    batch = begin_batch(connection)
    last = batch.add(_MARKED, [writer])
    batch.add("ROLLBACK")
    batch.run()
    return int(last.rows[0][0])


def _spend(batch: StatementBatch, group: Group, key: TenantDay, amount: Amount) -> StatementResult:
    most_calls, most_micro, (tenant, day) = None, None, key
    if group.totals is None:
        raised, limited = group.raised.get(key, ZERO), group.limited.get(key, ZERO)
        budget = group.budget.of(tenant)[tenant]
        if budget.calls is not None and limited.calls:
            most_calls = budget.calls - raised.calls
        if budget.micro_usd is not None and limited.micro_usd:
            most_micro = budget.micro_usd - raised.micro_usd
        if min(most_calls or 0, most_micro or 0) < 0:
            raise OverBudgetError  # Even on a day without a row.
    named = {"tenant": tenant, "day": day, "calls": amount.calls, "micro": amount.micro_usd}
    return batch.add(_SPEND, named | {"most_calls": most_calls, "most_micro": most_micro})


def _days_of(group: Group) -> Iterator[TenantDay]:
    for row in (*group.runs.values(), *group.admitted.values()):
        for tenant in group.budget.of(row.placement.tenant):
            yield from ((tenant, day_of(group.now)), (tenant, row.account.day))


def _locked_totals(connection: Connection, keys: Iterable[TenantDay]) -> dict[TenantDay, Amount]:
    rows = sorted(keys)
    batch = StatementBatch(connection)
    batch.add_for("INSERT INTO replan.spending SELECT *, 0, 0 FROM {rows} ON CONFLICT DO NOTHING", rows, _DAY)
    totals = batch.add_for(_TOTALS, rows, _DAY)
    batch.run()
    return {(tenant, day): Amount(calls=calls, micro_usd=micro_usd) for tenant, day, calls, micro_usd in totals.rows}


def head_values(head: RunHead) -> tuple[Any, ...]:
    """Return the values of the columns `WRITTEN` for a run."""
    return (*head.changing, head.summary.due, head.unread)


def message_values(number: int, run: str, item: InboxItem) -> tuple[Any, ...]:
    """Return the values of a row of the table `inbox`."""
    return number, item.inbox, item.key.encode(), item.body.encode(), item.at, seal(run, item)


def record_row(number: int, row: Stored, last: bool) -> tuple[Any, ...]:
    """Return the values of a row of the table `records`."""
    return (number, *row[:4], last, *row[4:])


RETRY_SECONDS = 5.0
"""The pause before a host tries again to listen for notices of the database, in seconds."""


class Listening:
    """Wakes the hosts of a journal. A committed transaction notifies the hosts by itself, so `wake` does nothing."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address

    def wake(self) -> None:
        """Do nothing: the transaction that made the work has notified every host."""

    async def listen(
        self, callback: Callable[[], object], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Call `callback` at every notice until the call is cancelled.

        While the connection is broken, no notices arrive, and hosts only poll.
        """
        task_status.started()
        reported = False
        while True:
            try:
                await self._listen_on_one(callback)
            except (psycopg.Error, OSError) as error:
                if not reported:
                    reason = self._address.message_line(str(error))
                    log.get_logger("host").warning("journal.not_listening", reason=reason)
                reported = True
            await trio.sleep(RETRY_SECONDS)

    async def _listen_on_one(self, callback: Callable[[], object]) -> None:
        """Listen on one connection until it breaks. Raises `psycopg.Error`, `OSError`."""
        connection = await trio.to_thread.run_sync(self._connect)
        try:
            while True:
                callback()  # Also at first, for earlier notices.
                await trio.lowlevel.wait_readable(connection.pgconn.socket)
                connection.pgconn.consume_input()
                while connection.pgconn.notifies() is not None:
                    pass
        finally:
            connection.close()

    def _connect(self) -> Connection:
        connection = connect(self._address)
        try:
            connection.execute(f"LISTEN {CHANNEL}")
        except BaseException:
            connection.close()
            raise
        return connection
