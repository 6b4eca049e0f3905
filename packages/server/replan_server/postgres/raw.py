"""A Postgres journal outside of an event loop, for copying, deleting and checking runs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import psycopg

from replan_server.postgres import schema
from replan_server.postgres.address import DatabaseAddress
from replan_server.postgres.committing import Committer
from replan_server.postgres.connecting import Connection, Cursor, DatabaseLink, StatementBatch, connect, explain
from replan_server.postgres.group import Alone
from replan_server.postgres.reading import PostgresReader, Texts
from replan_server.postgres.schema import check_upgraded, version_of
from replan_server.postgres.transaction import (
    ASKED,
    INSERT,
    MESSAGE,
    NAMED,
    RECORD,
    TEXT,
    WRITTEN,
    head_values,
    message_values,
    record_row,
    snapshot,
)
from runtime.core.daily_budget import NO_LIMIT
from runtime.core.errors import JournalError, RunExists, RunMoved, RunNotFound, UsageProblem
from runtime.core.hooks import mark_point
from runtime.journal import rules
from runtime.journal.head import COLUMNS, FIXED, RunHead, check_head, read_head
from runtime.journal.port import Deleted
from runtime.journal.raw import Inspection, RawStore, Refused, RunCopy, Spent
from runtime.journal.rules import RunOperation

_OF_A_RUN = ("named_texts", "asked", "positions", "records", "inbox")
"""The tables, besides `runs`, with rows that belong to a run. A table comes before the tables to which it refers."""


def delete_runs(cursor: Cursor, runs: Collection[str], check: Callable[[RunHead], None]) -> Deleted:
    """Delete runs.

    Raises `RunNotFound`, and the errors of `check` for the row of a run that may not be deleted. After an error, the
    caller must roll back the transaction.
    """
    held = _lock_rows(cursor, runs)
    for run in runs:
        if run not in held:
            raise RunNotFound(run)
        check(held[run])
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


def _lock_rows(cursor: Cursor, runs: Iterable[str]) -> dict[str, RunHead]:
    statement = f"SELECT {COLUMNS} FROM replan.runs WHERE run = ANY(%s) ORDER BY id FOR UPDATE"
    return {row.run: row for row in map(check_head, map(read_head, cursor.execute(statement, ([*runs],)).fetchall()))}


T = TypeVar("T")

_ADDED = f"{FIXED}, {', '.join(WRITTEN)}"
_ADD = f"INSERT INTO replan.runs ({_ADDED}) VALUES ({', '.join('%s' for _ in _ADDED.split(', '))}) RETURNING id"
_SPEND = (
    "INSERT INTO replan.spending AS total VALUES (%s, %s, %s, %s) ON CONFLICT (tenant, day) DO UPDATE"
    " SET calls = total.calls + excluded.calls, micro_usd = total.micro_usd + excluded.micro_usd"
)
_RECEIVED = (
    f"SELECT (SELECT hash FROM replan.records WHERE records.run = runs.id AND records.seq = tip), {COLUMNS}"
    " FROM replan.runs JOIN unnest(%s::text[], %s::bigint[]) AS copied (name, tip) ON run = name"
    " ORDER BY id FOR UPDATE OF runs"
)


class PostgresRaw(RawStore):
    """A database as the source or the target of moved runs."""

    def __init__(self, link: DatabaseLink) -> None:
        self._link, self._committer, self._texts = link, Committer(NO_LIMIT), Texts()

    @contextmanager
    def look(self) -> Iterator[PostgresReader]:
        with snapshot(self._link) as (cursor, now):
            yield PostgresReader(cursor, now, self._texts)

    def carry_out(self, works: Sequence[RunOperation[None]]) -> list[JournalError | None]:
        errors = [outcome.error for outcome in self._committer.commit(self._link, works)]
        for error in errors:
            if error is not None and not isinstance(error, JournalError):
                raise error
        return [error if isinstance(error, JournalError) else None for error in errors]

    def add(self, copies: Sequence[tuple[RunCopy, Spent]], source: str = "") -> list[bool | Refused]:
        return self._alone(lambda cursor, _: _add(cursor, copies, source))

    def remove(self, heads: Sequence[RunHead], place: str) -> Deleted:
        return self._alone(lambda cursor, _: _remove(cursor, heads, place))

    def close(self) -> None:
        """Delete the writer's row, and close the connection."""
        self._committer.forget(self._link)
        self._link.close()

    def _alone(self, work: Callable[[Cursor, float], T]) -> T:
        (outcome,) = self._committer.commit(self._link, [Alone(work)])
        if outcome.error is not None:
            raise outcome.error
        result: T = outcome.result
        return result


def _remove(cursor: Cursor, heads: Sequence[RunHead], place: str) -> Deleted:
    read = {head.run: head for head in heads}
    deleted = delete_runs(cursor, read, lambda head: rules.check_moved(head, read[head.run], place))
    mark_point("copy.removing")
    return deleted


def _add(cursor: Cursor, copies: Sequence[tuple[RunCopy, Spent]], source: str) -> list[bool | Refused]:
    """Add runs like `RawStore.add`, in only three round trips to the server, because other processes wait meanwhile."""
    by_name, results = {copy.head.run: copy.head for copy, _ in copies}, dict[str, bool | Refused]()
    tips = [*by_name], [head.tip.seq for head in by_name.values()]
    for digest, *values in cursor.execute(_RECEIVED, tips).fetchall():
        stored_head = read_head(values)
        copied = by_name[stored_head.run]
        try:
            changed = rules.receive(copied, stored_head, source, has_tip=digest == copied.tip.hash)
        except (RunExists, RunMoved) as error:
            results[stored_head.run] = error
            continue
        results[stored_head.run] = False
        if changed is not None:
            free = "UPDATE replan.runs SET owner = %s, lease_end = %s WHERE id = %s"
            cursor.execute(free, (changed.owner, changed.end, stored_head.id))
    _add_new(cursor, [(copy, spent) for copy, spent in copies if copy.head.run not in results])
    return [results.get(copy.head.run, True) for copy, _ in copies]


def _add_new(cursor: Cursor, copies: Sequence[tuple[RunCopy, Spent]]) -> None:
    if not copies:
        return
    batch = StatementBatch(cursor.connection)
    added = [batch.add(_ADD, _values(copy.added)) for copy, _ in copies]
    batch.run()
    numbered = [(answer.rows[0][0], copy) for answer, (copy, _) in zip(added, copies, strict=True)]
    batch = StatementBatch(cursor.connection)
    texts = {digest: text for copy, _ in copies for digest, text in copy.texts.items()}
    messages = [message_values(number, copy.head.run, item) for number, copy in numbered for item in copy.inbox]
    records = [record_row(number, row, row.seq in copy.ends) for number, copy in numbered for row in copy.records]
    named = [(digest, number) for number, copy in numbered for digest in sorted(copy.texts)]
    with_questions = [(number, copy.head.summary.asks) for number, copy in numbered if copy.head.summary.asks]
    batch.add_for(INSERT.format(table="texts") + " ON CONFLICT DO NOTHING", sorted(texts.items()), TEXT)
    batch.add_for(INSERT.format(table="inbox"), messages, MESSAGE)
    batch.add_for(INSERT.format(table="records"), records, RECORD)
    batch.add_for(INSERT.format(table="named_texts"), named, NAMED)
    batch.add_for(INSERT.format(table="asked"), with_questions, ASKED)
    for copy, spent in copies:
        for tenant in NO_LIMIT.of(copy.head.placement.tenant):
            for day, amount in sorted(spent.items()):
                batch.add(_SPEND, [tenant, day, amount.calls, amount.micro_usd])
    batch.run()


def _values(head: RunHead) -> tuple[Any, ...]:
    title = head.title.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return (*head._replace(title=title).fixed, *head_values(head))


@contextmanager
def open_raw(address: DatabaseAddress) -> Iterator[PostgresRaw]:
    """Open a database to move runs out of the database or into it. Missing tables are made.

    Raises the errors of `open_postgres`.
    """
    try:
        with closing(DatabaseLink(address)) as link:
            schema.ensure_tables(link.connection(), address.place)
            with closing(PostgresRaw(link)) as store:
                yield store
    except psycopg.Error as error:
        raise explain(address, error) from error


@contextmanager
def open_inspection(address: DatabaseAddress) -> Iterator[Inspection | None]:
    """Open a journal for reading in one snapshot; None if the database has no journal.

    Raises `JournalNewer`, `JournalUnreadable`, `JournalUnreachable`, `JournalDamaged`.
    """
    try:
        with closing(DatabaseLink(address)) as link:
            version = version_of(link.connection(), address.place)
            if version == 0:
                yield None
                return
            check_upgraded(version, address.place)
            with snapshot(link) as (cursor, now):
                # `problems` and `check_end` keep their defaults: the tables' constraints are checked at every change,
                # and no part of the server's log can be removed. `lost` also keeps its default: a gap in the numbers of
                # runs proves no loss, since a failed admission leaves a gap too.
                rows = cursor.execute("SELECT id, due, unread FROM replan.runs")
                agenda = {run: (due, unread) for run, due, unread in rows}
                yield Inspection(PostgresReader(cursor, now), agenda=lambda head: agenda[head.id])
    except psycopg.Error as error:
        raise explain(address, error) from error


Beside = Callable[[Connection, str], schema.Rights]
"""A function that makes additional tables. It returns the rights to these tables by kind of role. Its arguments are the
connection, and the place for error messages.
"""


def upgrade(address: DatabaseAddress, roles: Mapping[str, str], beside: Beside = lambda _, __: {}) -> int:
    """Upgrade a journal and return its version. `roles` maps kinds in `schema.ROLES` to names of roles.

    Raises `JournalNewer`, `JournalUnreachable`, `JournalUnreadable`, and `UsageProblem` for a role that does not exist.
    """
    try:
        with closing(connect(address)) as connection:
            version = schema.upgrade(connection, address.place)
            schema.grant(connection, dict(roles), beside(connection, address.place))
            return version
    except psycopg.errors.UndefinedObject as error:
        hint = "make the role first: CREATE ROLE NAME LOGIN"
        raise UsageProblem(address.message_line(str(error)), place=address.place, hint=hint) from None
    except psycopg.Error as error:
        raise explain(address, error) from error
