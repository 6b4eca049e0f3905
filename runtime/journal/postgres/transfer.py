"""Copying runs out of a Postgres journal and into one (`runtime.journal.copying`)."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NoReturn, TypeVar

import psycopg

from runtime.core.daily_budget import NO_LIMIT, HomeBudget
from runtime.core.errors import JournalError, RunExists, RunMoved
from runtime.journal.chain import Tip, seal, verify
from runtime.journal.copying import Refused, RunCopy, Spent, check_received
from runtime.journal.holding import MOVED_UNTIL, check_movable, moved_to, place_moved_to
from runtime.journal.port import Dead
from runtime.journal.postgres import reading, schema
from runtime.journal.postgres.address import Address
from runtime.journal.postgres.batch import Batch
from runtime.journal.postgres.committing import Committer
from runtime.journal.postgres.connecting import Cursor, Link
from runtime.journal.postgres.failures import explain
from runtime.journal.postgres.group import Group, Work
from runtime.journal.postgres.rows import CHANGING, HeldRow
from runtime.journal.postgres.transaction import ASKED, MESSAGE, NAMED, RECORD, TEXT, snapshot

T = TypeVar("T")

_ADD = (
    f"INSERT INTO replan.runs (run, title, kind, format, created, tenant, priority, {', '.join(CHANGING)})"
    f" VALUES (%s, %s, %s, %s, %s, %s, %s, {', '.join('%s' for _ in CHANGING)}) RETURNING id"
)
_SPEND = (
    "INSERT INTO replan.spending AS total VALUES (%s, %s, %s, %s) ON CONFLICT (tenant, day) DO UPDATE"
    " SET calls = total.calls + excluded.calls, micro_usd = total.micro_usd + excluded.micro_usd"
)
_COVER = (
    "INSERT INTO replan.spending AS total SELECT %(tenant)s, day, sum(greatest(0, calls - calls_before)),"
    " sum(greatest(0, micro_usd - micro_usd_before)) FROM replan.runs"
    " WHERE day = %(day)s AND %(tenant)s IN ('', tenant) GROUP BY day"
    " ON CONFLICT (tenant, day) DO UPDATE SET calls = greatest(total.calls, excluded.calls),"
    " micro_usd = greatest(total.micro_usd, excluded.micro_usd)"
)
"""Raises the total of a day to what the runs that were booked on it last have added to it, where it is lower."""


class PostgresTransfer:
    """A database that runs are copied from or to."""

    def __init__(self, link: Link) -> None:
        """Take a link whose tables have been checked."""
        self._link, self._committer = link, Committer(HomeBudget())
        self._texts = reading.SharedTexts()

    def runs(self) -> list[str]:
        """As `Source.runs`."""
        with snapshot(self._link) as (cursor, _):
            found = cursor.execute("SELECT run FROM replan.runs WHERE last_seq > 0 ORDER BY id").fetchall()
        return [run for (run,) in found]

    def move(self, runs: Sequence[str], place: str, dead: Dead) -> Iterator[tuple[str, RunCopy | JournalError]]:
        """As `Source.move`."""

        def decide(group: Group) -> dict[str, JournalError]:
            failed = dict[str, JournalError]()
            for run in runs:
                try:
                    held = group.held(run)
                    if not check_movable(run, held.owner, held.end, group.now, dead, place=place):
                        group.put(held._replace(owner=moved_to(place), end=MOVED_UNTIL, epoch=held.epoch + 1))
                except JournalError as error:
                    failed[run] = error
            return failed

        failed = self._do(Work(decide, tuple(runs)))
        for run in runs:
            yield run, failed.get(run) or self._copy(run)

    def _copy(self, run: str) -> RunCopy | JournalError:
        """Return all of a run, verified, or why it cannot be read."""
        try:
            with snapshot(self._link) as (cursor, now):
                return self._read(cursor, run, now)
        except JournalError as error:
            return error

    def _read(self, cursor: Cursor, run: str, now: float) -> RunCopy:
        held, row = reading.held(cursor, run), reading.run_row(cursor, run, now)
        start, rows = reading.stored_after(cursor, held, 0)
        verify(run, start, rows, held.tip)
        ends = cursor.execute("SELECT seq FROM replan.records WHERE run = %s AND last", (held.id,)).fetchall()
        return RunCopy(
            run,
            row.title,
            held.kind,
            held.format,
            row.created,
            row.updated,
            row.summary,
            held.epoch,
            held.account,
            held.placement,
            rows,
            frozenset(seq for (seq,) in ends),
            reading.messages_after(cursor, run, 0),
            self._texts.of(cursor, held),
        )

    def keep(self, runs: Sequence[str], place: str) -> None:
        """As `Source.keep`."""

        def decide(group: Group) -> None:
            for held in map(group.held, runs):
                if place_moved_to(held.owner) == place:
                    group.put(held._replace(owner=None, end=0.0))

        self._do(Work(decide, tuple(runs)))

    def add(self, copies: Sequence[tuple[RunCopy, Spent]], source: str = "") -> list[bool | Refused]:
        """As `Target.add`."""

        def add(cursor: Cursor, _: float) -> list[bool | Refused]:
            results, written = list[bool | Refused](), set[bytes]()
            for copy, spent in copies:
                try:
                    results.append(_add(cursor, copy, spent, source, written))
                except (RunExists, RunMoved) as error:
                    results.append(error)
            return results

        return self._do(Work(_undecided, alone=add))

    def close(self) -> None:
        """Forget the writer, and close the connection."""
        self._committer.forget(self._link)
        self._link.close()

    def _do(self, work: Work[T]) -> T:
        (outcome,) = self._committer.commit(self._link, [work])
        if outcome.error is not None:
            raise outcome.error
        result: T = outcome.result
        return result


def _undecided(_: Group) -> NoReturn:
    raise AssertionError("a job of its own does not decide in a group")


def _add(cursor: Cursor, copy: RunCopy, spent: Spent, source: str, written: set[bytes]) -> bool:
    """Add a run unless it was received before; `written` are the texts that this transaction has, by hash."""
    found = cursor.execute(
        "SELECT owner, epoch, (SELECT hash FROM replan.records WHERE run = id AND seq = %s) FROM replan.runs"
        " WHERE run = %s FOR UPDATE",
        (copy.tip.seq, copy.run),
    ).fetchall()
    for owner, epoch, digest in found:
        check_received(copy, owner, epoch, has_tip=digest is not None and Tip(copy.tip.seq, bytes(digest)) == copy.tip)
        if source and place_moved_to(owner) == source:
            cursor.execute("UPDATE replan.runs SET owner = NULL, lease_end = 0 WHERE run = %s", (copy.run,))
        return False
    row = HeldRow(
        *(0, copy.run, copy.kind, copy.format, copy.updated, copy.summary, copy.tip, copy.last_posted),
        *(copy.last_consumed, None, 0.0, copy.epoch, copy.account, copy.placement),
    )
    title = copy.title.replace("\0", "\N{REPLACEMENT CHARACTER}")
    values = (copy.run, title, copy.kind, copy.format, copy.created, *copy.placement, *row.changing())
    number = cursor.execute(_ADD, values).fetchall()[0][0]
    connection = cursor.connection
    batch = Batch(connection)
    insert = "INSERT INTO replan.{table} SELECT * FROM {{rows}}"
    messages = [(number, i.inbox, i.key.encode(), i.body.encode(), i.at, seal(copy.run, i)) for i in copy.inbox]
    records = [(number, *row[:4], row.seq in copy.ends, *row[4:]) for row in copy.records]
    texts = sorted((digest, text) for digest, text in copy.texts.items() if digest not in written)
    batch.add_for(insert.format(table="texts") + " ON CONFLICT DO NOTHING", texts, TEXT)
    batch.add_for(insert.format(table="inbox"), messages, MESSAGE)
    batch.add_for(insert.format(table="records"), records, RECORD)
    batch.add_for(insert.format(table="named_texts"), [(digest, number) for digest in sorted(copy.texts)], NAMED)
    batch.add_for(insert.format(table="asked"), [(number, copy.summary.asks)] if copy.summary.asks else [], ASKED)
    for tenant in NO_LIMIT.of(copy.placement.tenant):
        if spent is None:
            batch.add(_COVER, {"tenant": tenant, "day": copy.account.day})
            continue
        for day, amount in sorted(spent.items()):
            batch.add(_SPEND, [tenant, day, amount.calls, amount.micro_usd])
    batch.run()
    written |= copy.texts.keys()
    return True


@contextmanager
def open_transfer(address: Address) -> Iterator[PostgresTransfer]:
    """Open a database to copy runs from or to; its tables are made if they are missing. Raises as `open_postgres`."""
    try:
        with closing(Link(address)) as link:
            schema.check(link.connection(), address.place)
            with closing(PostgresTransfer(link)) as transfer:
                yield transfer
    except psycopg.Error as error:
        raise explain(address, error) from error
