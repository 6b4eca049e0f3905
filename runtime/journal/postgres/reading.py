"""What is read from a Postgres journal outside of a group: rows, records, messages, what is due, and totals.

What a host asks for each run that it wakes goes to the server as one message, together with the end of the snapshot
(`last`): on a busy machine every round trip waits for several processes in turn.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core.errors import JournalDamaged, RunNotFound
from runtime.core.events import Record
from runtime.core.ledger import ZERO, Amount
from runtime.journal.chain import Stored, Tip, decode, seal, verify
from runtime.journal.kinds import Codecs, Formats, codec_of
from runtime.journal.port import Dead, Due, HostRow, InboxItem, RunFilter, RunRow
from runtime.journal.postgres.batch import Batch
from runtime.journal.postgres.connecting import NOW, Cursor
from runtime.journal.postgres.rows import COLUMNS, LISTED, HeldRow, held_row, listed_row

_ROW = f"SELECT {LISTED.format(now='%(now)s', asks='true')} FROM replan.runs WHERE run = %(run)s"
_ROWS = (
    f"SELECT {LISTED.format(now='%(now)s', asks='%(asks)s')} FROM replan.runs"
    " WHERE (NOT %(asks)s OR id IN (SELECT run FROM replan.asked))"
    " AND (%(status)s::text IS NULL OR status = %(status)s)"
    " AND (%(before)s::float8 IS NULL OR waiting_since < %(before)s) AND starts_with(title, %(title)s)"
    " AND starts_with(run, %(run)s)"
    " ORDER BY id DESC LIMIT %(limit)s"
)
_RECORDS = "SELECT seq, at, epoch, inbox, body, hash FROM replan.records WHERE run = %s AND seq > %s ORDER BY seq"
_MESSAGES = (
    "SELECT id, key, body, at, seal FROM replan.inbox"
    " WHERE run = (SELECT id FROM replan.runs WHERE run = %s) AND id > %s ORDER BY id"
)

SHARED_BYTES = 16 * 1024 * 1024
"""The bytes of texts of other runs above which those that were read are dropped."""

_DRIVABLE = "(%(kinds)s::jsonb IS NULL OR format <= (%(kinds)s::jsonb ->> kind)::bigint)"
_FREE = "(owner IS NULL OR lease_end <= %(now)s OR owner = ANY(%(dead)s::text[]))"
DUE = (
    "id IN (SELECT id FROM replan.runs WHERE due <= %(now)s UNION ALL SELECT id FROM replan.runs WHERE unread)"
    f" AND last_seq > 0 AND status <> 'parked' AND {_FREE} AND {_DRIVABLE}"
)
"""The condition for a run that a host has to drive; its values are those of `asked`."""

_DUE = f"SELECT run FROM replan.runs WHERE {DUE} ORDER BY priority DESC, id LIMIT %(limit)s"
_UNREAD = f"SELECT run FROM replan.runs WHERE unread AND NOT {_FREE} AND {_DRIVABLE}"
_NEXT = f"SELECT due FROM replan.runs WHERE due > %(now)s AND {_DRIVABLE} ORDER BY due LIMIT 1"
_OWNERS = "SELECT DISTINCT owner FROM replan.runs WHERE owner IS NOT NULL AND lease_end > %s"


def server_now(cursor: Cursor) -> float:
    """Return the server's time."""
    return float(cursor.execute(NOW).fetchall()[0][0])


def run_row(cursor: Cursor, run: str, now: float, *, last: bool = False) -> RunRow:
    """Return one status row; `last` also ends the snapshot. Raises `RunNotFound`."""
    batch = Batch(cursor.connection)
    found = batch.add(_ROW, {"run": run, "now": now})
    _run(batch, last=last)
    for row in found.rows:
        return listed_row(row)
    raise RunNotFound(run)


def _run(batch: Batch, *, last: bool) -> None:
    if last:
        batch.add("ROLLBACK")
    batch.run()


def run_rows(cursor: Cursor, which: RunFilter, now: float) -> list[RunRow]:
    """Return the status rows that match, the run admitted last first."""
    asked = {"status": which.status, "before": which.waiting_since_before, "title": which.title_start, "now": now}
    asked |= {"run": which.run_start, "limit": max(0, which.limit), "asks": which.asks}
    return [listed_row(row) for row in cursor.execute(_ROWS, asked)]


def held(cursor: Cursor, run: str) -> HeldRow:
    """Return a run's row, without a lock. Raises `RunNotFound`, `JournalDamaged`."""
    for row in cursor.execute(f"SELECT {COLUMNS} FROM replan.runs WHERE run = %s", (run,)):
        return held_row(row)
    raise RunNotFound(run)


def stored_after(cursor: Cursor, row: HeldRow, after: int) -> tuple[Tip, list[Stored]]:
    """Return the end of a run's chain up to a place, and the records after it, as stored."""
    start = row.start
    if after > 0:
        before = "SELECT seq, hash FROM replan.records WHERE run = %s AND seq <= %s ORDER BY seq DESC LIMIT 1"
        for seq, digest in cursor.execute(before, (row.id, after)):
            start = Tip(seq, bytes(digest))
    found = cursor.execute(_RECORDS, (row.id, start.seq)).fetchall()
    rows = [Stored._make(values) for values in found]
    return start, [row._replace(body=bytes(row.body), hash=bytes(row.hash)) for row in rows]


def records_after(cursor: Cursor, codecs: Codecs, run: str, after: int) -> list[Record[Any]]:
    """Return the records after a place, verified. Raises as `Journal.read` does."""
    row = held(cursor, run)
    start, rows = stored_after(cursor, row, after)
    verify(run, start, rows, row.tip)
    codec = codec_of(codecs, run, row.kind, row.format)
    return decode(codec, run, rows, texts_of(cursor, row, rows).get)


def texts_of(cursor: Cursor, row: HeldRow, rows: Sequence[Stored]) -> Mapping[str, bytes]:
    """Return the texts that a run names, by hash in hex; none where no record is asked for."""
    if not rows:
        return {}
    statement = "SELECT hash, text FROM replan.named_texts JOIN replan.texts USING (hash) WHERE run = %s"
    return {bytes(digest).hex(): bytes(text) for digest, text in cursor.execute(statement, (row.id,))}


class SharedTexts:
    """Reads the texts of many runs, and each that they share once: it is known by its hash, and never changes."""

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}
        self._size = 0

    def of(self, cursor: Cursor, row: HeldRow) -> dict[bytes, bytes]:
        """Return the texts that a run names, by hash."""
        named = cursor.execute("SELECT hash FROM replan.named_texts WHERE run = %s", (row.id,)).fetchall()
        hashes = [bytes(digest) for (digest,) in named]
        if self._size > SHARED_BYTES:
            self._known, self._size = {}, 0
        missing = [digest for digest in hashes if digest not in self._known]
        if missing:
            statement = "SELECT hash, text FROM replan.texts WHERE hash = ANY(%s)"
            found = {bytes(digest): bytes(text) for digest, text in cursor.execute(statement, (missing,))}
            self._known |= found
            self._size += sum(map(len, found.values()))
        return {digest: self._known[digest] for digest in hashes if digest in self._known}


def messages_after(cursor: Cursor, run: str, after: int, *, last: bool = False) -> list[InboxItem]:
    """Return the messages with an id above `after`, in order; `last` also ends the snapshot.

    Raises `RunNotFound`, `JournalDamaged`.
    """
    batch = Batch(cursor.connection)
    known = batch.add("SELECT 1 FROM replan.runs WHERE run = %s", [run])
    found = batch.add(_MESSAGES, [run, after])
    _run(batch, last=last)
    if not known.rows:
        raise RunNotFound(run)
    return [message(run, row) for row in found.rows]


def message(run: str, row: Sequence[Any]) -> InboxItem:
    """Return a posted message of which id, key, body, time and seal were read. Raises `JournalDamaged`."""
    inbox, key, body, at, stored_seal = row
    try:
        item = InboxItem(inbox, bytes(key).decode(), bytes(body).decode(), at)
    except UnicodeDecodeError:
        item = None
    if item is None or seal(run, item) != bytes(stored_seal):
        raise JournalDamaged(f"run {run!r}, posted message {inbox}", "the message does not match its hash")
    return item


def due(cursor: Cursor, limit: int, now: float, dead: Dead, kinds: Formats | None) -> Due:
    """Return what a host has to do, for runs of these kinds; None is all kinds. It ends the snapshot."""
    values = asked(cursor, now, dead, kinds)
    batch = Batch(cursor.connection)
    runs = batch.add(_DUE, {**values, "limit": max(0, limit)})
    unread = batch.add(_UNREAD, values)
    following = batch.add(_NEXT, values)
    _run(batch, last=True)
    return Due(
        tuple(run for (run,) in runs.rows),
        frozenset(run for (run,) in unread.rows),
        following.rows[0][0] if following.rows else None,
    )


def asked(cursor: Cursor, now: float, dead: Dead, kinds: Formats | None) -> dict[str, Any]:
    """Return the values of `DUE`: the time, the owners that are gone, and the kinds that can be driven."""
    gone = [owner for (owner,) in cursor.execute(_OWNERS, (now,)).fetchall() if dead(owner)]
    drivable = None if kinds is None else json.dumps(dict(kinds))
    return {"now": now, "dead": gone, "kinds": drivable}


def present(cursor: Cursor, now: float) -> list[HostRow]:
    """Return the hosts whose presence has not ended."""
    statement = "SELECT id, owner, until, kinds FROM replan.hosts WHERE until > %s ORDER BY id"
    return [
        HostRow(host, owner, until, None if kinds is None else json.loads(kinds))
        for host, owner, until, kinds in cursor.execute(statement, (now,))
    ]


def spending(cursor: Cursor, tenant: str, day: int) -> Amount:
    """Return the total of a day."""
    statement = "SELECT calls, micro_usd FROM replan.spending WHERE tenant = %s AND day = %s"
    for calls, micro_usd in cursor.execute(statement, (tenant, day)):
        return Amount(calls=calls, micro_usd=micro_usd)
    return ZERO


def version(cursor: Cursor) -> int:
    """Return a number that changes with every commit: a hash of which transactions have ended."""
    ((ended,),) = cursor.execute("SELECT pg_current_snapshot()::text").fetchall()
    return int.from_bytes(hashlib.sha256(str(ended).encode()).digest()[:8])
