"""The statements of the SQLite journal: each function is one query or one change, in its caller's transaction."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from runtime.core.daily_budget import Account
from runtime.core.errors import (
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalUnreadable,
    RunExists,
    RunNotFound,
    StorageFull,
)
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from runtime.journal import folder
from runtime.journal.chain import GENESIS, Stored, Tip, genesis, seal
from runtime.journal.holding import check_driver
from runtime.journal.kinds import Formats
from runtime.journal.port import NEW, ORDINARY, Dead, Due, InboxItem, Placement, RunFilter, RunRow
from runtime.journal.sqlite.packing import pack
from runtime.journal.validation import Entry, check_consumable

E = TypeVar("E")

_ROW = (
    "SELECT run, title, created, updated, last_seq, status, detail, waiting_since, next_wake, calls, tokens, micro_usd,"
    " owner, lease_end, epoch, id IN (SELECT run FROM unread), kind, format, tenant, priority,"
    " CASE WHEN :asks THEN (SELECT questions FROM asked WHERE asked.run = id) END FROM runs"
)

ROW = f"{_ROW} WHERE run = :run"

_WHICH_ASK = "(NOT :asks OR id IN (SELECT run FROM asked))"

ROWS = (
    f"{_ROW} WHERE {_WHICH_ASK}"
    " AND (:status IS NULL OR status = :status) AND (:before IS NULL OR waiting_since < :before)"
    " AND substr(title, 1, length(:title)) = :title AND substr(run, 1, length(:run)) = :run"
    " ORDER BY id DESC LIMIT :limit"
)


class RunLeaseRow(NamedTuple):
    """The part of a run's row that says who drives it, where its records end and how much it has committed."""

    id: int
    """The run's number in this file."""
    owner: str | None
    end: float
    epoch: int
    tip: Tip
    account: Account
    kind: str
    format: int
    placement: Placement = ORDINARY
    status: str = NEW.status
    """The status of the run, as its row has it."""

    @property
    def start(self) -> Tip:
        """Where the run's chain begins."""
        return Tip(0, genesis(self.kind, self.format))


def add_run(connection: apsw.Connection, run: str, title: str, now: float, new: RunLeaseRow) -> RunLeaseRow:
    """Admit a run; return its lease with its number, which is above `new.id` and all others. Raises `RunExists`."""
    connection.execute(
        "INSERT INTO runs (id, run, title, created, updated, last_seq, last_hash, status, detail, owner, lease_end,"
        " epoch, kind, format, tenant, priority) VALUES (max(?, coalesce((SELECT max(id) FROM runs), 0)) + 1, ?,"
        " ?, ?, ?, ?, ?, 'running', '', ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run) DO NOTHING",
        (
            *(new.id, run, title, now, now, *new.tip, new.owner, new.end, new.epoch, new.kind, new.format),
            *new.placement,
        ),
    )
    if connection.changes() == 0:
        raise RunExists(run)
    return new._replace(id=connection.last_insert_rowid())


def run_row(connection: apsw.Connection, run: str, now: float) -> RunRow:
    """Return one status row. Raises `RunNotFound`."""
    for row in connection.execute(ROW, {"run": run, "asks": True}):
        return _run_row(row, now)
    raise RunNotFound(run)


def run_rows(connection: apsw.Connection, which: RunFilter, now: float) -> list[RunRow]:
    """Return the status rows that match, the run admitted last first."""
    asked = {"status": which.status, "before": which.waiting_since_before, "title": which.title_start}
    bindings = {**asked, "run": which.run_start, "limit": max(0, which.limit), "asks": which.asks}
    return [_run_row(row, now) for row in connection.execute(ROWS, bindings)]


def _run_row(row: Sequence[Any], now: float) -> RunRow:
    run, title, created, updated, last_seq, status, detail, waiting_since, next_wake, *committed = row[:12]
    owner, lease_end, epoch, unread, kind, format, *placement, asks = row[12:]
    summary = Summary(status, detail, waiting_since, next_wake, Amount(*committed), asks or b"")
    living = owner if lease_end > now else None
    return RunRow(
        *(run, title, created, updated, last_seq, summary, living, epoch, bool(unread), kind, format),
        placement=Placement(*placement),
    )


def numbers(connection: apsw.Connection) -> set[int]:
    """Return the numbers of all runs."""
    return {number for (number,) in connection.execute("SELECT id FROM runs")}


def lease(connection: apsw.Connection, run: str) -> RunLeaseRow:
    """Return the lease of a run and the end of its chain. Raises `RunNotFound`, `JournalDamaged`."""
    statement = (
        "SELECT id, owner, lease_end, epoch, kind, format, last_seq, last_hash, calls, tokens, micro_usd, day,"
        " calls_before, micro_usd_before, tenant, priority, status FROM runs WHERE run = ?"
    )
    row: Any
    for row in connection.execute(statement, (run,)):
        number, owner, end, epoch, kind, format, last_seq, last_hash, *booked = row
        if not (isinstance(epoch, int) and isinstance(last_seq, int) and isinstance(last_hash, bytes)):
            break
        if not (len(last_hash) == len(GENESIS) and isinstance(kind, str) and isinstance(format, int)):
            break
        calls, tokens, micro_usd, day, calls_before, micro_usd_before, *placement, status = booked
        account = Account(Amount(calls, tokens, micro_usd), day, Amount(calls=calls_before, micro_usd=micro_usd_before))
        tip, placed = Tip(last_seq, last_hash), Placement(*placement)
        return RunLeaseRow(number, owner, end, epoch, tip, account, kind, format, placed, status)
    else:
        raise RunNotFound(run)
    raise JournalDamaged(f"run {run!r}", "its status row cannot be read")


def driven(connection: apsw.Connection, run: str, epoch: int) -> RunLeaseRow:
    """Return the run's lease if it was taken under this epoch and not released. Raises `RunNotFound`, `Fenced`."""
    held = lease(connection, run)
    check_driver(run, held.owner, held.epoch, epoch)
    return held


def update_lease(connection: apsw.Connection, held: RunLeaseRow) -> None:
    """Write the lease of a run: owner, end and epoch."""
    statement = "UPDATE runs SET owner = ?, lease_end = ?, epoch = ? WHERE id = ?"
    connection.execute(statement, (held.owner, held.end, held.epoch, held.id))


def add_records(
    connection: apsw.Connection, run: str, number: int, entries: Sequence[Entry[E]], rows: Sequence[Stored]
) -> None:
    """Write records and their texts. Raises `JournalError` if they consume a message that cannot be consumed."""
    for entry in entries:
        for digest, text in entry.texts.items():
            statement = "INSERT INTO texts (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING"
            connection.execute(statement, (bytes.fromhex(digest), text))
    for row in pack(rows):
        if row.inbox is not None:
            _check_consumable(connection, run, number, row.inbox)
        connection.execute(
            "INSERT INTO events (run, seq, at, epoch, inbox, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *row)
        )
    last = max((row.inbox for row in rows if row.inbox is not None), default=None)
    if last is not None:
        statement = "DELETE FROM unread WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM inbox WHERE run = ?1 AND id > ?2)"
        connection.execute(statement, (number, last))


def _check_consumable(connection: apsw.Connection, run: str, number: int, inbox: int) -> None:
    statement = (
        "SELECT EXISTS (SELECT 1 FROM inbox WHERE run = :run AND id = :inbox),"
        " NOT EXISTS (SELECT 1 FROM events WHERE run = :run AND inbox = :inbox)"
    )
    ((posted, fresh),) = connection.execute(statement, {"run": number, "inbox": inbox})
    check_consumable(run, inbox, posted=bool(posted), fresh=bool(fresh))


def update_run(connection: apsw.Connection, held: RunLeaseRow, summary: Summary, now: float) -> None:
    """Write the end of a run's chain, its summary, what it has committed and when it is due."""
    number, tip, account = held.id, held.tip, held.account
    row = (summary.status, summary.detail, summary.waiting_since, summary.next_wake)
    total, before = account.total, account.before
    booked = (total.calls, total.tokens, total.micro_usd, account.day, before.calls, before.micro_usd)
    connection.execute(
        "UPDATE runs SET updated = ?, last_seq = ?, last_hash = ?, status = ?, detail = ?, waiting_since = ?,"
        " next_wake = ?, calls = ?, tokens = ?, micro_usd = ?, day = ?, calls_before = ?, micro_usd_before = ?"
        " WHERE id = ?",
        (now, *tip, *row, *booked, number),
    )
    due = summary.due
    if due is None:
        connection.execute("DELETE FROM agenda WHERE run = ?", (number,))
    else:
        statement = (
            "INSERT INTO agenda (run, at) VALUES (?, ?) ON CONFLICT (run) DO UPDATE"
            " SET at = excluded.at WHERE at <> excluded.at"
        )
        connection.execute(statement, (number, due))
    if summary.asks:
        statement = (
            "INSERT INTO asked (run, questions) VALUES (?, ?) ON CONFLICT (run) DO UPDATE"
            " SET questions = excluded.questions WHERE questions <> excluded.questions"
        )
        connection.execute(statement, (number, summary.asks))
    else:
        connection.execute("DELETE FROM asked WHERE run = ?", (number,))
    if summary.status == "finished":
        connection.execute("DELETE FROM unread WHERE run = ?", (number,))
    elif held.status == "finished":  # What was posted after its end is read once it goes on.
        statement = (
            "INSERT INTO unread (run) SELECT run FROM inbox WHERE run = ?1 GROUP BY run"
            " HAVING max(id) > (SELECT coalesce(max(inbox), 0) FROM events WHERE run = ?1) ON CONFLICT DO NOTHING"
        )
        connection.execute(statement, (number,))


def add_spending(connection: apsw.Connection, tenant: str, day: int, change: Amount) -> Amount:
    """Add to the total of a day, of a tenant or (`HOME`) of all runs, and return the new total."""
    statement = (
        "INSERT INTO spending (tenant, day, calls, micro_usd) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (tenant, day) DO UPDATE SET calls = calls + excluded.calls,"
        " micro_usd = micro_usd + excluded.micro_usd RETURNING calls, micro_usd"
    )
    total: Any
    (total,) = connection.execute(statement, (tenant, day, change.calls, change.micro_usd)).fetchall()
    calls, micro_usd = total
    return Amount(calls=calls, micro_usd=micro_usd)


def cover_spending(connection: apsw.Connection, tenant: str, day: int) -> None:
    """Raise the total of a day to what the runs that were booked on it last have added to it, where it is lower.

    As for `add_spending`, of a tenant or (`HOME`) of all runs.
    """
    connection.execute(
        "INSERT INTO spending SELECT :tenant, day, sum(max(0, calls - calls_before)),"
        " sum(max(0, micro_usd - micro_usd_before)) FROM runs WHERE day = :day AND :tenant IN ('', tenant) GROUP BY day"
        " HAVING true ON CONFLICT (tenant, day) DO UPDATE"
        " SET calls = max(calls, excluded.calls), micro_usd = max(micro_usd, excluded.micro_usd)",
        {"day": day, "tenant": tenant},
    )


def spending(connection: apsw.Connection, tenant: str, day: int) -> Amount:
    """Return the total of a day, of a tenant or (`HOME`) of all runs."""
    statement = "SELECT calls, micro_usd FROM spending WHERE tenant = ? AND day = ?"
    for calls, micro_usd in connection.execute(statement, (tenant, day)):
        return Amount(calls=calls, micro_usd=micro_usd)
    return ZERO


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


def due(connection: apsw.Connection, limit: int, now: float, dead: Dead, kinds: Formats | None) -> Due:
    """Return what a host has to do, for runs of these kinds; None is all kinds."""
    owners: list[Any] = connection.execute(
        "SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL AND lease_end > ?", (now,)
    ).fetchall()
    dead_owners = json.dumps([owner for (owner,) in owners if dead(owner)])
    drivable = None if kinds is None else json.dumps(dict(kinds))
    bindings = {"now": now, "dead": dead_owners, "kinds": drivable, "limit": max(0, limit)}
    runs: list[Any] = connection.execute(DUE, bindings).fetchall()
    unread: list[Any] = connection.execute(UNREAD, bindings).fetchall()
    following: list[Any] = connection.execute(NEXT, bindings).fetchall()
    soonest = following[0][0] if following else None
    return Due(tuple(run for (run,) in runs), frozenset(run for (run,) in unread), soonest)


def tip_before(connection: apsw.Connection, held: RunLeaseRow, seq: int) -> Tip:
    """Return the end of a run's last row that ends at or before a place."""
    statement = "SELECT seq, hash FROM events WHERE run = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
    for place, digest in connection.execute(statement, (held.id, seq)):
        return Tip(place, digest)
    return held.start


def rows_after(connection: apsw.Connection, number: int, seq: int) -> list[Stored]:
    """Return a run's rows that end after a place, as stored."""
    rows = connection.execute(
        "SELECT seq, at, epoch, inbox, body, hash FROM events WHERE run = ? AND seq > ? ORDER BY seq", (number, seq)
    )
    return list(map(Stored._make, rows))


def text(connection: apsw.Connection, digest: str) -> bytes | None:
    """Return the bytes of the text with this hash, in hex."""
    for (content,) in connection.execute("SELECT text FROM texts WHERE hash = ?", (bytes.fromhex(digest),)):
        return bytes(content)
    return None


def posted_under(connection: apsw.Connection, run: str, number: int, key: str) -> InboxItem | None:
    """Return the message that was posted under a key. Raises `JournalDamaged`."""
    rows = connection.execute("SELECT id, key, body, at, seal FROM inbox WHERE run = ? AND key = ?", (number, key))
    return next((_item(run, row) for row in rows), None)


def posted_after(connection: apsw.Connection, run: str, number: int, after: int, limit: int = -1) -> list[InboxItem]:
    """Return the messages with an id above `after`, in order; all, or at most `limit`. Raises `JournalDamaged`."""
    statement = "SELECT id, key, body, at, seal FROM inbox WHERE run = ? AND id > ? ORDER BY id LIMIT ?"
    return [_item(run, row) for row in connection.execute(statement, (number, after, limit))]


def add_message(connection: apsw.Connection, run: str, number: int, item: InboxItem) -> None:
    """Write a posted message."""
    row = (number, item.inbox, item.key, item.body, item.at, seal(run, item))
    connection.execute("INSERT INTO inbox (run, id, key, body, at, seal) VALUES (?, ?, ?, ?, ?, ?)", row)
    statement = (
        "INSERT INTO unread (run) SELECT id FROM runs WHERE id = ? AND status <> 'finished' ON CONFLICT DO NOTHING"
    )
    connection.execute(statement, (number,))


def last_message(connection: apsw.Connection, number: int) -> int:
    """Return the id of the message that was posted last, or 0."""
    ((last,),) = connection.execute("SELECT coalesce(max(id), 0) FROM inbox WHERE run = ?", (number,))
    return int(last)


def _item(run: str, row: Sequence[Any]) -> InboxItem:
    inbox, key, body, at, stored_seal = row
    # In a damaged file a column may have a value of another type.
    if isinstance(key, str) and isinstance(body, str):
        item = InboxItem(inbox, key, body, at)
        if seal(run, item) == stored_seal:
            return item
    raise JournalDamaged(f"run {run!r}, posted message {inbox}", "the message does not match its hash")


def explain(path: Path, use_another: str, error: Exception) -> Exception:
    """Return the runtime's error for an error of SQLite or of the system; any other error unchanged."""
    match error:
        case apsw.FullError():
            return StorageFull(str(path))
        case apsw.IOError() if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE:
            # On a full disk the index of the write-ahead log cannot be created.
            return StorageFull(str(path))
        case apsw.CorruptError() | apsw.NotADBError():
            return JournalDamaged(str(path), str(error))
        case UnicodeDecodeError():
            return JournalDamaged(str(path), "a text in it is not UTF-8")
        case apsw.BusyError():
            return JournalBusy(str(path))
        case apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError() | apsw.ReadOnlyError():
            return JournalUnreadable(str(path), str(error), folder.access_hint(use_another))
        case apsw.IOError():
            hint = "look at the disk, then try again; what was acknowledged is kept"
            return JournalUnreadable(str(path), str(error), hint)
        case apsw.Error():
            return JournalError(f"{path}: {error}")
        case OSError():
            return folder.explain(error, path, use_another)
        case _:
            return error
