"""Reads rows, records, messages, due runs, hosts and totals from a SQLite file."""

import json
import struct
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import apsw

from runtime.core.errors import JournalDamaged, RunNotFound
from runtime.core.ledger import ZERO, Amount
from runtime.journal.chain import Stored, Tip, link, seal
from runtime.journal.head import COLUMNS, LISTED, RunHead, check_head, read_head
from runtime.journal.port import Dead, Due, Formats, HostRow, InboxItem, RunFilter, RunRow, Totals
from runtime.journal.raw import Part, StoreReader

BETWEEN = b"\n"
"""The bytes between two bodies. Stored JSON is a single line, because a line feed in a text is written as `\\n`."""


def pack(rows: Sequence[Stored]) -> list[Stored]:
    """Return the table rows that store the records of one append. A record that consumes a message begins a new row."""
    packed: list[list[Stored]] = []
    for row in rows:
        if packed and row.inbox is None:
            packed[-1].append(row)
        else:
            packed.append([row])
    return [group[-1]._replace(inbox=group[0].inbox, body=BETWEEN.join(row.body for row in group)) for group in packed]


def unpack(run: str, start: Tip, packed: Sequence[Stored]) -> list[Stored]:
    """Return the records in table rows that follow the record at `start`.

    The records are not verified. The hash of the last record of a row is the stored one; the other hashes are computed.
    """
    rows: list[Stored] = []
    previous = start.hash
    for last in packed:
        bodies = _lines(last.body)
        first = last.seq - len(bodies) + 1
        for position, body in enumerate(bodies):
            row = last._replace(seq=first + position, inbox=None if position else last.inbox, body=body)
            if row.seq < last.seq:
                row = row._replace(hash=_link(previous, run, row))
            rows.append(row)
            previous = row.hash
    return rows


def _lines(body: Any) -> list[Any]:
    # In a damaged file a column may have a value of another type.
    return body.split(BETWEEN) if isinstance(body, bytes) else [body]


def _link(previous: bytes, run: str, row: Stored) -> bytes:
    try:
        return link(previous, run, row)
    except (struct.error, TypeError):
        return b""  # Verifying the last record of the row will report the error.


_ASKS = "(SELECT questions FROM asked WHERE asked.run = id)"
_HEAD = f"SELECT {COLUMNS} FROM runs WHERE run = ?"  # noqa: S608 -- names of our own, as below
_HEAD_ASKS = f"SELECT {_ASKS}, {COLUMNS} FROM runs WHERE run = ?"  # noqa: S608
_OWNER = "CASE WHEN lease_end > :now THEN owner END"
_MATCHING = (
    " FROM runs WHERE (NOT :asks OR id IN (SELECT run FROM asked)) AND (NOT :unfinished OR status <> 'finished')"
    " AND (NOT :tops OR instr(run, '.') = 0)"
    " AND (:status IS NULL OR status = :status)"
    " AND (:waiting_since_before IS NULL OR waiting_since < :waiting_since_before)"
    " AND substr(title, 1, length(:title_start)) = :title_start AND substr(run, 1, length(:run_start)) = :run_start"
)
ROWS = (
    f"SELECT {LISTED}, {_OWNER}, CASE WHEN :asks THEN {_ASKS} ELSE x'' END {_MATCHING}"
    " ORDER BY id DESC LIMIT :limit OFFSET :begin"
)
_TOTALS = f"SELECT count(*), coalesce(sum(last_seq), 0), count({_OWNER}) {_MATCHING}"
_PART = "SELECT seq, at, epoch, inbox, body, hash FROM events WHERE run = ? AND seq > ? ORDER BY seq"
_ENDS = "SELECT seq, hash FROM events WHERE run = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
_MESSAGE = "SELECT id, key, body, at, seal FROM inbox WHERE run = ?"

_DRIVABLE = "AND (:kinds IS NULL OR format <= (SELECT value FROM json_each(:kinds) WHERE key = kind))"

# Cross joins, so that SQLite scans the small tables and never all runs.
_DUE = (
    "SELECT runs.run FROM (SELECT run FROM agenda INDEXED BY agenda_at WHERE at <= :now UNION SELECT run FROM unread)"
    " AS due CROSS JOIN runs ON runs.id = due.run WHERE last_seq > 0 AND status <> 'parked' AND (owner IS NULL"
    " OR lease_end <= :now OR owner IN (SELECT value FROM json_each(:dead)))"
)
_UNREAD = (
    "SELECT runs.run FROM unread CROSS JOIN runs ON runs.id = unread.run WHERE owner IS NOT NULL AND lease_end > :now"
    " AND owner NOT IN (SELECT value FROM json_each(:dead))"
)
_NEXT = "SELECT at FROM agenda INDEXED BY agenda_at CROSS JOIN runs ON runs.id = agenda.run WHERE at > :now"

DUE = f"{_DUE} {_DRIVABLE} ORDER BY priority DESC, runs.id LIMIT :limit"
UNREAD = f"{_UNREAD} {_DRIVABLE}"
NEXT = f"{_NEXT} {_DRIVABLE} ORDER BY at LIMIT 1"


class SqliteReader(StoreReader):
    """Reads the file, within the caller's transaction if there is one."""

    def __init__(self, connection: apsw.Connection, now: float) -> None:
        """Store a connection, and the time `now`: a lease that ends before it counts as ended."""
        self._connection, self.now = connection, now

    def names(self, *, recorded: bool = False) -> list[str]:
        return self._values("SELECT run FROM runs WHERE last_seq > 0 OR NOT :all ORDER BY id", {"all": recorded})

    def head(self, run: str, *, asks: bool = False) -> RunHead:
        return check_head(self._read(run, asks=asks))

    def row(self, run: str) -> RunRow:
        """Implement `StoreReader.row`. A damaged row is returned too."""
        return self._read(run, asks=True).row_at(self.now)

    def _read(self, run: str, *, asks: bool) -> RunHead:
        row: Any
        for row in self._connection.execute(_HEAD_ASKS if asks else _HEAD, (run,)):
            return read_head(row[1:], row[0]) if asks else read_head(row)
        raise RunNotFound(run)

    def rows(self, which: RunFilter) -> list[RunRow]:
        bindings = {**asdict(which), "limit": max(0, which.limit), "now": self.now}
        return list(map(RunRow._make, self._connection.execute(ROWS, bindings)))

    def totals(self, which: RunFilter) -> Totals:
        (totals,) = self._connection.execute(_TOTALS, {**asdict(which), "now": self.now})
        return Totals._make(totals)

    def part(self, head: RunHead, after: int) -> Part:
        start = head.start
        for place, digest in self._connection.execute(_ENDS, (head.id, after)) if after > 0 else ():
            start = Tip(place, digest)
        packed = list(map(Stored._make, self._connection.execute(_PART, (head.id, start.seq))))
        return Part(start, unpack(head.run, start, packed), frozenset(row.seq for row in packed))

    def messages(self, run: str, after: int) -> list[InboxItem]:
        rows = self._connection.execute(f"{_MESSAGE} AND id > ? ORDER BY id", (self.head(run).id, after))
        return [_item(run, row) for row in rows]

    def message_under(self, head: RunHead, key: str) -> InboxItem | None:
        """Return the message that was posted under a key. Raises `JournalDamaged`."""
        rows = self._connection.execute(f"{_MESSAGE} AND key = ?", (head.id, key))
        return next((_item(head.run, row) for row in rows), None)

    def fresh(self, head: RunHead, inbox: Sequence[int]) -> dict[int, bool]:
        """Return for the id of each of these messages whether no record has consumed it.

        Messages that were never posted are not returned.
        """
        if not inbox:
            return {}
        statement = (
            "SELECT id, NOT EXISTS (SELECT 1 FROM events WHERE events.run = inbox.run AND events.inbox = inbox.id)"
            " FROM inbox WHERE run = ? AND id = ?"
        )
        found = (row for item in inbox for row in self._connection.execute(statement, (head.id, item)))
        return {item: bool(free) for item, free in found}

    def text(self, digest: str) -> bytes | None:
        found = self._connection.execute("SELECT text FROM texts WHERE hash = ?", (bytes.fromhex(digest),))
        return next((bytes(content) for (content,) in found), None)

    def due(self, limit: int, dead: Dead, kinds: Formats | None) -> Due:
        owners = "SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL AND lease_end > ?"
        dead_owners = json.dumps(
            [owner for (owner,) in self._connection.execute(owners, (self.now,)) if dead(str(owner))]
        )
        drivable = None if kinds is None else json.dumps(dict(kinds))
        bindings = {"now": self.now, "dead": dead_owners, "kinds": drivable, "limit": limit}
        runs, unread, following = (self._values(item, bindings) for item in (DUE, UNREAD, NEXT))
        return Due(tuple(runs), frozenset(unread), following[0] if following else None)

    def hosts(self) -> list[HostRow]:
        statement = "SELECT id, owner, until, kinds FROM hosts WHERE until > ? ORDER BY id"
        return [
            HostRow(host, owner, until, None if kinds is None else _kinds(kinds))
            for host, owner, until, kinds in self._connection.execute(statement, (self.now,))
        ]

    def spending(self) -> dict[tuple[str, int], Amount]:
        rows = self._connection.execute("SELECT tenant, day, calls, micro_usd FROM spending")
        return {(tenant, day): Amount(calls=calls, micro_usd=micro_usd) for tenant, day, calls, micro_usd in rows}

    def spent(self, tenant: str, day: int) -> Amount:
        statement = "SELECT calls, micro_usd FROM spending WHERE tenant = ? AND day = ?"
        for calls, micro_usd in self._connection.execute(statement, (tenant, day)):
            return Amount(calls=calls, micro_usd=micro_usd)
        return ZERO

    def has(self, head: RunHead, tip: Tip) -> bool:
        """Return whether the record at `tip` is stored, and is the last record of an append."""
        rows = self._connection.execute("SELECT hash FROM events WHERE run = ? AND seq = ?", (head.id, tip.seq))
        return [bytes(digest) for (digest,) in rows] == [tip.hash]

    def _values(self, statement: str, bindings: dict[str, Any]) -> list[Any]:
        return [value for (value,) in self._connection.execute(statement, bindings)]


def _item(run: str, row: Sequence[Any]) -> InboxItem:
    inbox, key, body, at, stored_seal = row
    # In a damaged file a column may have a value of another type.
    if isinstance(key, str) and isinstance(body, str):
        item = InboxItem(inbox, key, body, at)
        if seal(run, item) == stored_seal:
            return item
    raise JournalDamaged(f"run {run!r}, posted message {inbox}", "the message does not match its hash")


def _kinds(stored: str) -> Formats:
    try:
        kinds = json.loads(stored)
    except ValueError:
        return {}  # The row is damaged, so the host is treated as driving no kind.
    if not isinstance(kinds, dict):
        return {}
    return {kind: format for kind, format in kinds.items() if isinstance(format, int)}
