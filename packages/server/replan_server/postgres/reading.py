"""Reads from a Postgres journal outside of a group: rows, records, messages, due runs, and totals.

On a busy machine, each round trip to the server may take long. So the queries for a run that a host wakes are sent in
one message, together with the end of the snapshot (`_last`).
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import psycopg

from replan_server.postgres.connecting import NOW, Cursor, DatabaseLink, StatementBatch, StatementResult, is_passing
from runtime.core.errors import JournalDamaged, JournalError, RunNotFound
from runtime.core.ledger import ZERO, Amount
from runtime.journal.chain import Stored, Tip, seal, verify
from runtime.journal.head import COLUMNS, LISTED, RunHead, check_head, read_head
from runtime.journal.port import Dead, Due, Formats, HostRow, InboxItem, RunFilter, RunRow, Totals
from runtime.journal.raw import Part, RunCopy, StoreReader, TextOf
from runtime.journal.rules import named_texts

_ASKS = "(SELECT questions FROM replan.asked WHERE asked.run = runs.id)"
_HEAD = f"SELECT {COLUMNS} FROM replan.runs WHERE run = %s"
_HEADS_ASKS = f"SELECT {_ASKS}, {COLUMNS} FROM replan.runs WHERE run = ANY(%s) ORDER BY id"
_OWNER = "CASE WHEN lease_end > %(now)s THEN owner END"
_MATCHING = (
    " FROM replan.runs WHERE (NOT %(asks)s OR id IN (SELECT run FROM replan.asked))"
    " AND (NOT %(unfinished)s OR status <> 'finished') AND (NOT %(tops)s OR strpos(run, '.') = 0)"
    " AND (%(status)s::text IS NULL OR status = %(status)s)"
    " AND (%(waiting_since_before)s::float8 IS NULL OR waiting_since < %(waiting_since_before)s)"
    " AND starts_with(title, %(title_start)s) AND starts_with(run, %(run_start)s)"
)
_ROWS = (
    f"SELECT {LISTED}, {_OWNER}, CASE WHEN %(asks)s THEN {_ASKS} ELSE '' END {_MATCHING}"
    " ORDER BY id DESC LIMIT %(limit)s OFFSET %(begin)s"
)
_TOTALS = f"SELECT count(*), coalesce(sum(last_seq), 0)::bigint, count({_OWNER}) {_MATCHING}"
_RECORDS = "SELECT seq, at, epoch, inbox, body, hash, last FROM replan.records WHERE run = %s AND seq > %s ORDER BY seq"
_BEFORE = "SELECT seq, hash FROM replan.records WHERE run = %s AND seq <= %s ORDER BY seq DESC LIMIT 1"
_MESSAGES = (
    "SELECT id, key, body, at, seal FROM replan.inbox"
    " WHERE run = (SELECT id FROM replan.runs WHERE run = %s) AND id > %s ORDER BY id"
)
_OF_RUNS = "IN (SELECT id FROM replan.runs WHERE run = ANY(%s))"
_RECORDS_OF = (
    f"SELECT run, seq, at, epoch, inbox, body, hash, last FROM replan.records WHERE run {_OF_RUNS} ORDER BY run, seq"
)
_MESSAGES_OF = f"SELECT run, id, key, body, at, seal FROM replan.inbox WHERE run {_OF_RUNS} ORDER BY run, id"
READ_AT_ONCE = 20
"""The largest number of runs that one message to the database reads. Reading several runs at once needs fewer messages,
so other processes wait less."""

SHARED_BYTES = 16 * 1024 * 1024
"""The size in bytes above which the cache of texts is cleared before the next read."""

_DRIVABLE = "(%(kinds)s::jsonb IS NULL OR format <= (%(kinds)s::jsonb ->> kind)::bigint)"
_FREE = "(owner IS NULL OR lease_end <= %(now)s OR owner = ANY(%(dead)s::text[]))"
DUE = (
    "id IN (SELECT id FROM replan.runs WHERE due <= %(now)s UNION ALL SELECT id FROM replan.runs WHERE unread)"
    f" AND last_seq > 0 AND status <> 'parked' AND {_FREE} AND {_DRIVABLE}"
)
"""The SQL condition that selects the runs that a host has to drive. The function `due_values` returns the values of its
parameters."""

_DUE = f"SELECT run FROM replan.runs WHERE {DUE} ORDER BY priority DESC, id LIMIT %(limit)s"
_UNREAD = f"SELECT run FROM replan.runs WHERE unread AND NOT {_FREE} AND {_DRIVABLE}"
_NEXT = f"SELECT due FROM replan.runs WHERE due > %(now)s AND {_DRIVABLE} ORDER BY due LIMIT 1"
_OWNERS = "SELECT DISTINCT owner FROM replan.runs WHERE owner IS NOT NULL AND lease_end > %s"


class Texts:
    """A cache of texts by hash. Many runs share texts, and a text never changes."""

    def __init__(self) -> None:
        self.known: dict[bytes, bytes] = {}
        self._size = 0

    def read(self, cursor: Cursor, digests: Iterable[bytes]) -> None:
        """Read those of the texts that are not in the cache. A text that the database does not have is skipped."""
        if self._size > SHARED_BYTES:
            self.known, self._size = {}, 0
        missing = [digest for digest in digests if digest not in self.known]
        if missing:
            statement = "SELECT hash, text FROM replan.texts WHERE hash = ANY(%s)"
            found = {bytes(digest): bytes(text) for digest, text in cursor.execute(statement, (missing,))}
            self.known |= found
            self._size += sum(map(len, found.values()))


class PostgresReader(StoreReader):
    """Reads the database in the transaction that the caller has begun."""

    def __init__(self, cursor: Cursor, now: float, texts: Texts | None = None) -> None:
        self._cursor, self.now, self._texts = cursor, now, texts or Texts()

    def names(self, *, recorded: bool = False) -> list[str]:
        return [
            run for (run,) in self._all("SELECT run FROM replan.runs WHERE last_seq >= %s ORDER BY id", int(recorded))
        ]

    def head(self, run: str, *, asks: bool = False) -> RunHead:
        for values in self._all(_HEADS_ASKS, [run]) if asks else self._all(_HEAD, run):
            return check_head(read_head(values[1:], values[0]) if asks else read_head(values))
        raise RunNotFound(run)

    def rows(self, which: RunFilter) -> list[RunRow]:
        bindings = {**asdict(which), "limit": max(0, which.limit), "now": self.now}
        return list(map(RunRow._make, self._cursor.execute(_ROWS, bindings)))

    def totals(self, which: RunFilter) -> Totals:
        (totals,) = self._cursor.execute(_TOTALS, {**asdict(which), "now": self.now})
        return Totals._make(totals)

    def part(self, head: RunHead, after: int) -> Part:
        start = head.start
        for seq, digest in self._all(_BEFORE, head.id, after) if after > 0 else ():
            start = Tip(seq, bytes(digest))
        return _part(start, self._all(_RECORDS, head.id, start.seq))

    def messages(self, run: str, after: int) -> list[InboxItem]:
        found = self._all(_MESSAGES, run, after)
        if not found:
            self.head(run)
        return [message(run, row) for row in found]

    def text(self, digest: str) -> bytes | None:
        found = self._all("SELECT text FROM replan.texts WHERE hash = %s", bytes.fromhex(digest))
        return next((bytes(text) for (text,) in found), None)

    def texts_of(self, rows: Iterable[Stored]) -> TextOf:
        """Implement `StoreReader.texts_of`, in one statement."""
        self._texts.read(self._cursor, named_texts(row.body for row in rows))
        known = self._texts.known
        return lambda digest: known.get(bytes.fromhex(digest))

    def row(self, run: str) -> RunRow:
        """Implement `StoreReader.row`. The query and the end of the snapshot are sent together."""
        for values in self._last((_HEADS_ASKS, [[run]]))[0].rows:
            return read_head(values[1:], values[0]).row_at(self.now)
        raise RunNotFound(run)

    def inbox(self, run: str, after: int) -> list[InboxItem]:
        """Implement `StoreReader.inbox`. The queries and the end of the snapshot are sent together."""
        there, found = self._last(("SELECT 1 FROM replan.runs WHERE run = %s", [run]), (_MESSAGES, [run, after]))
        if not there.rows:
            raise RunNotFound(run)
        return [message(run, row) for row in found.rows]

    def due(self, limit: int, dead: Dead, kinds: Formats | None) -> Due:
        """Implement `StoreReader.due`, in two messages. The second message also ends the snapshot."""
        values = due_values(self._cursor, self.now, dead, kinds)
        runs, unread, following = self._last((_DUE, {**values, "limit": limit}), (_UNREAD, values), (_NEXT, values))
        return Due(
            tuple(run for (run,) in runs.rows),
            frozenset(run for (run,) in unread.rows),
            following.rows[0][0] if following.rows else None,
        )

    def hosts(self) -> list[HostRow]:
        found = self._all("SELECT id, owner, until, kinds FROM replan.hosts WHERE until > %s ORDER BY id", self.now)
        return [
            HostRow(host, owner, until, None if kinds is None else json.loads(kinds))
            for host, owner, until, kinds in found
        ]

    def spending(self) -> dict[tuple[str, int], Amount]:
        rows = self._all("SELECT tenant, day, calls, micro_usd FROM replan.spending")
        return {(tenant, day): Amount(calls=calls, micro_usd=micro_usd) for tenant, day, calls, micro_usd in rows}

    def spent(self, tenant: str, day: int) -> Amount:
        statement = "SELECT calls, micro_usd FROM replan.spending WHERE tenant = %s AND day = %s"
        for calls, micro_usd in self._all(statement, tenant, day):
            return Amount(calls=calls, micro_usd=micro_usd)
        return ZERO

    def copies(self, runs: Sequence[str]) -> Iterator[tuple[str, RunCopy | JournalError]]:
        """Implement `StoreReader.copies`, with `READ_AT_ONCE` runs in one message and their texts in another."""
        for begin in range(0, len(runs), READ_AT_ONCE):
            some = [*runs[begin : begin + READ_AT_ONCE]]
            batch = StatementBatch(self._cursor.connection)
            heads, records, inbox = (batch.add(ask, [some]) for ask in (_HEADS_ASKS, _RECORDS_OF, _MESSAGES_OF))
            batch.run()
            rows, messages = _by_run(records.rows), _by_run(inbox.rows)
            self._texts.read(self._cursor, named_texts(bytes(row[5]) for row in records.rows))
            found = {values[2]: self._copy(values, rows, messages) for values in heads.rows}
            yield from ((run, found.get(run) or RunNotFound(run)) for run in some)

    def _copy(self, values: Sequence[Any], rows: "_ByRun", messages: "_ByRun") -> RunCopy | JournalError:
        try:
            head = check_head(read_head(values[1:], values[0]))
            part = _part(head.start, rows.get(head.id, []))
            verify(head.run, head.start, part.rows, head.tip)
            inbox = [message(head.run, item) for item in messages.get(head.id, [])]
        except JournalError as error:
            return error
        return RunCopy(head, part.rows, part.ends, inbox, self.named(part.rows))

    def _all(self, statement: str, *values: Any) -> list[Any]:
        return self._cursor.execute(statement, values).fetchall()

    def _last(self, *asked: tuple[str, Any]) -> list[StatementResult]:
        """Run the last statements of a snapshot, and return their results. The snapshot ends in the same message."""
        batch = StatementBatch(self._cursor.connection)
        answers = [batch.add(*item) for item in asked]
        batch.add("ROLLBACK")
        batch.run()
        return answers


_ByRun = dict[int, list[Sequence[Any]]]


def _by_run(rows: Iterable[Sequence[Any]]) -> _ByRun:
    """Group rows by their first value, which is the number of a run, and remove this value from the rows."""
    found: _ByRun = {}
    for number, *values in rows:
        found.setdefault(number, []).append(values)
    return found


def _part(start: Tip, found: Iterable[Sequence[Any]]) -> Part:
    rows, ends = list[Stored](), set[int]()
    for seq, at, epoch, inbox, body, digest, last in found:
        rows.append(Stored(seq, at, epoch, inbox, bytes(body), bytes(digest)))
        if last:
            ends.add(seq)
    return Part(start, rows, frozenset(ends))


def message(run: str, row: Sequence[Any]) -> InboxItem:
    """Return a posted message from its id, key, body, time and seal. Raises `JournalDamaged`."""
    inbox, key, body, at, stored_seal = row
    try:
        item = InboxItem(inbox, bytes(key).decode(), bytes(body).decode(), at)
    except UnicodeDecodeError:
        item = None
    if item is None or seal(run, item) != bytes(stored_seal):
        raise JournalDamaged(f"run {run!r}, posted message {inbox}", "the message does not match its hash")
    return item


def due_values(cursor: Cursor, now: float, dead: Dead, kinds: Formats | None) -> dict[str, Any]:
    """Return the values in the condition `DUE`: the time, the dead owners, and the kinds that can be driven."""
    dead_owners = [owner for (owner,) in cursor.execute(_OWNERS, (now,)).fetchall() if dead(owner)]
    drivable = None if kinds is None else json.dumps(dict(kinds))
    return {"now": now, "dead": dead_owners, "kinds": drivable}


def server_now(cursor: Cursor) -> float:
    """Return the server's time."""
    return float(cursor.execute(NOW).fetchall()[0][0])


def version(cursor: Cursor) -> int:
    """Return a number that changes with every commit. It is a hash of the list of ended transactions."""
    ((ended,),) = cursor.execute("SELECT pg_current_snapshot()::text").fetchall()
    return int.from_bytes(hashlib.sha256(str(ended).encode()).digest()[:8])


T = TypeVar("T")

PAUSE_SECONDS = 0.05


def retry_read(work: Callable[[DatabaseLink], T], seconds: float, link: DatabaseLink) -> T:
    """Return the result of a read. After temporary errors, retry the read for `seconds`. Raises `psycopg.Error`."""
    until = time.monotonic() + seconds
    while True:
        try:
            return work(link)
        except psycopg.Error as error:
            if not is_passing(error) or time.monotonic() > until:
                raise
        time.sleep(PAUSE_SECONDS)
