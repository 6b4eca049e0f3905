"""Copying runs out of a Postgres journal and into one (`runtime.journal.copying`)."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple, NoReturn, TypeVar

import psycopg

from runtime.core.daily_budget import NO_LIMIT, HomeBudget
from runtime.core.errors import JournalError, RunExists, RunMoved
from runtime.journal.chain import Stored, seal, verify
from runtime.journal.copying import Refused, RunCopy, Spent, check_received
from runtime.journal.holding import MOVED_UNTIL, check_movable, moved_to, place_moved_to
from runtime.journal.port import Dead, RunRow
from runtime.journal.postgres import reading, schema
from runtime.journal.postgres.address import Address
from runtime.journal.postgres.batch import Batch
from runtime.journal.postgres.committing import Committer
from runtime.journal.postgres.connecting import Cursor, Link
from runtime.journal.postgres.failures import explain
from runtime.journal.postgres.group import Group, Work
from runtime.journal.postgres.rows import CHANGING, COLUMNS, LISTED, HeldRow, held_row, listed_row
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


_OF_RUNS = "IN (SELECT id FROM replan.runs WHERE run = ANY(%s))"
_HELD_RUNS = f"SELECT {COLUMNS} FROM replan.runs WHERE run = ANY(%s) ORDER BY id"
_LISTED_RUNS = f"SELECT {LISTED.format(now='%(now)s', asks='true')} FROM replan.runs WHERE run = ANY(%(runs)s)"
_RECORDS_OF = (
    f"SELECT run, seq, at, epoch, inbox, body, hash, last FROM replan.records WHERE run {_OF_RUNS} ORDER BY run, seq"
)
_MESSAGES_OF = f"SELECT run, id, key, body, at, seal FROM replan.inbox WHERE run {_OF_RUNS} ORDER BY run, id"
_RECEIVED = (
    "SELECT run, owner, epoch, (SELECT hash FROM replan.records WHERE records.run = runs.id AND records.seq = tip)"
    " FROM replan.runs JOIN unnest(%s::text[], %s::bigint[]) AS copied (name, tip) ON run = name"
    " ORDER BY id FOR UPDATE OF runs"
)

READ_AT_ONCE = 20
"""Runs that are read together."""


class _Stored(NamedTuple):
    """What was read of some runs."""

    listed: dict[str, RunRow]
    records: dict[int, list[Sequence[Any]]]
    inbox: dict[int, list[Sequence[Any]]]


def _by_run(rows: Iterable[Sequence[Any]]) -> dict[int, list[Sequence[Any]]]:
    """Return rows without their first value, the number of a run, by that."""
    found = dict[int, list[Sequence[Any]]]()
    for number, *values in rows:
        found.setdefault(number, []).append(values)
    return found


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
        here = [run for run in runs if run not in failed]
        for begin in range(0, len(here), READ_AT_ONCE):
            failed_or_read = self._read(here[begin : begin + READ_AT_ONCE])
            yield from failed_or_read.items()
        yield from failed.items()

    def _read(self, runs: Sequence[str]) -> dict[str, RunCopy | JournalError]:
        """Return all of some runs, verified, each or why it cannot be read; in few messages, for which others wait."""
        with snapshot(self._link) as (cursor, now):
            batch = Batch(cursor.connection)
            listed = batch.add(_LISTED_RUNS, {"runs": [*runs], "now": now})
            held, records, inbox = (batch.add(each, [[*runs]]) for each in (_HELD_RUNS, _RECORDS_OF, _MESSAGES_OF))
            batch.run()
            stored = _Stored(
                {row.run: row for row in map(listed_row, listed.rows)}, _by_run(records.rows), _by_run(inbox.rows)
            )
            return {values[1]: self._copy(cursor, values, stored) for values in held.rows}

    def _copy(self, cursor: Cursor, values: Sequence[Any], stored: "_Stored") -> RunCopy | JournalError:
        """Return a run, verified, or why it cannot be read."""
        try:
            held = held_row(values)
            found = stored.records.get(held.id, [])
            rows = [
                Stored(seq, at, epoch, consumed, bytes(body), bytes(digest))
                for seq, at, epoch, consumed, body, digest, _ in found
            ]
            verify(held.run, held.start, rows, held.tip)
            inbox = [reading.message(held.run, each) for each in stored.inbox.get(held.id, [])]
        except JournalError as error:
            return error
        row = stored.listed[held.run]
        return RunCopy(
            held.run,
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
            frozenset(each[0] for each in found if each[6]),
            inbox,
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
        return self._do(Work(_undecided, alone=lambda cursor, _: _add(cursor, copies, source)))

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


def _add(cursor: Cursor, copies: Sequence[tuple[RunCopy, Spent]], source: str) -> list[bool | Refused]:
    """Add runs as `Target.add`, in three messages, for each of which other processes wait."""
    by_name, results = {copy.run: copy for copy, _ in copies}, dict[str, bool | Refused]()
    tips = [*by_name], [copy.tip.seq for copy in by_name.values()]
    for run, owner, epoch, digest in cursor.execute(_RECEIVED, tips).fetchall():
        copy = by_name[run]
        has_tip = digest is not None and bytes(digest) == copy.tip.hash
        try:
            check_received(copy, owner, epoch, has_tip=has_tip)
        except (RunExists, RunMoved) as error:
            results[run] = error
            continue
        results[run] = False
        if source and place_moved_to(owner) == source:
            cursor.execute("UPDATE replan.runs SET owner = NULL, lease_end = 0 WHERE run = %s", (run,))
    _add_new(cursor, [(copy, spent) for copy, spent in copies if copy.run not in results])
    return [results.get(copy.run, True) for copy, _ in copies]


def _add_new(cursor: Cursor, copies: Sequence[tuple[RunCopy, Spent]]) -> None:
    """Add runs that are not there."""
    if not copies:
        return
    batch = Batch(cursor.connection)
    added = [batch.add(_ADD, _values(copy)) for copy, _ in copies]
    batch.run()
    numbered = [(answer.rows[0][0], copy) for answer, (copy, _) in zip(added, copies, strict=True)]
    batch, insert = Batch(cursor.connection), "INSERT INTO replan.{table} SELECT * FROM {{rows}}"
    texts = {digest: text for copy, _ in copies for digest, text in copy.texts.items()}
    messages = [
        (number, i.inbox, i.key.encode(), i.body.encode(), i.at, seal(copy.run, i))
        for number, copy in numbered
        for i in copy.inbox
    ]
    records = [(number, *row[:4], row.seq in copy.ends, *row[4:]) for number, copy in numbered for row in copy.records]
    named = [(digest, number) for number, copy in numbered for digest in sorted(copy.texts)]
    asked = [(number, copy.summary.asks) for number, copy in numbered if copy.summary.asks]
    batch.add_for(insert.format(table="texts") + " ON CONFLICT DO NOTHING", sorted(texts.items()), TEXT)
    batch.add_for(insert.format(table="inbox"), messages, MESSAGE)
    batch.add_for(insert.format(table="records"), records, RECORD)
    batch.add_for(insert.format(table="named_texts"), named, NAMED)
    batch.add_for(insert.format(table="asked"), asked, ASKED)
    for copy, spent in copies:
        for tenant in NO_LIMIT.of(copy.placement.tenant):
            if spent is None:
                batch.add(_COVER, {"tenant": tenant, "day": copy.account.day})
                continue
            for day, amount in sorted(spent.items()):
                batch.add(_SPEND, [tenant, day, amount.calls, amount.micro_usd])
    batch.run()


def _values(copy: RunCopy) -> tuple[Any, ...]:
    """Return the values of `_ADD`."""
    row = HeldRow(
        *(0, copy.run, copy.kind, copy.format, copy.updated, copy.summary, copy.tip, copy.last_posted),
        *(copy.last_consumed, None, 0.0, copy.epoch, copy.account, copy.placement),
    )
    title = copy.title.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return (copy.run, title, copy.kind, copy.format, copy.created, *copy.placement, *row.changing())


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
