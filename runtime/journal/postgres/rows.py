"""A run's row in Postgres as a transaction holds it: read under a lock, changed in memory, written back once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from runtime.core.daily_budget import Account
from runtime.core.errors import JournalDamaged
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.chain import GENESIS, Tip, genesis
from runtime.journal.port import Placement, RunRow

_CHANGING = (
    "updated, status, detail, waiting_since, next_wake, due, unread, last_seq, last_hash, last_posted, last_consumed,"
    " owner, lease_end, epoch, calls, tokens, micro_usd, day, calls_before, micro_usd_before"
)
_TYPES: Mapping[str, str] = {
    "updated": "float8",
    "status": "text",
    "detail": "text",
    "waiting_since": "float8",
    "next_wake": "float8",
    "due": "float8",
    "unread": "boolean",
    "last_hash": "bytea",
    "owner": "text",
    "lease_end": "float8",
}
CHANGING: Mapping[str, str] = {name: _TYPES.get(name, "bigint") for name in _CHANGING.split(", ")}
"""The columns that a transaction may change, with their types."""

COLUMNS = f"id, run, kind, format, {_CHANGING}, tenant, priority"
"""What is read of a locked row."""


class HeldRow(NamedTuple):
    """A run's row."""

    id: int
    """The run's number in this database."""
    run: str
    kind: str
    format: int
    updated: float
    summary: Summary
    tip: Tip
    last_posted: int
    """The id of the last posted message, or 0."""
    last_consumed: int
    """The highest id of a message that a record has consumed, or 0."""
    owner: str | None
    end: float
    """When the lease ends."""
    epoch: int
    account: Account
    placement: Placement

    @property
    def start(self) -> Tip:
        """Where the run's chain begins."""
        return Tip(0, genesis(self.kind, self.format))

    @property
    def unread(self) -> bool:
        """Whether a message waits for a driver."""
        return self.summary.status != "finished" and self.last_posted > self.last_consumed

    def changing(self) -> tuple[Any, ...]:
        """Return the values of the columns in `CHANGING`."""
        summary, account = self.summary, self.account
        return (
            *(self.updated, summary.status, summary.detail, summary.waiting_since, summary.next_wake, summary.due),
            *(self.unread, *self.tip, self.last_posted, self.last_consumed, self.owner, self.end, self.epoch),
            *(account.total.calls, account.total.tokens, account.total.micro_usd, account.day),
            *(account.before.calls, account.before.micro_usd),
        )


def held_row(values: Sequence[Any]) -> HeldRow:
    """Return the row with the values of `COLUMNS`. Raises `JournalDamaged` for one that no journal has written."""
    number, run, kind, format, updated, status, detail, waiting_since, next_wake, _due, _unread = values[:11]
    last_seq, last_hash, last_posted, last_consumed, owner, end, epoch, *booked = values[11:]
    if len(last_hash) != len(GENESIS):
        raise JournalDamaged(f"run {run!r}", "its status row cannot be read")
    calls, tokens, micro_usd, day, calls_before, micro_usd_before, *placement = booked
    total = Amount(calls, tokens, micro_usd)
    account = Account(total, day, Amount(calls=calls_before, micro_usd=micro_usd_before))
    summary = Summary(status, detail, waiting_since, next_wake, total)
    tip = Tip(last_seq, bytes(last_hash))
    return HeldRow(
        *(number, run, kind, format, updated, summary, tip),
        *(last_posted, last_consumed, owner, end, epoch, account, Placement(*placement)),
    )


LISTED = (
    "run, title, created, updated, last_seq, status, detail, waiting_since, next_wake, calls, tokens, micro_usd,"
    " CASE WHEN lease_end > {now} THEN owner END, epoch, unread, kind, format, tenant, priority,"
    " CASE WHEN {asks} THEN (SELECT questions FROM replan.asked WHERE asked.run = runs.id) END"
)
"""What is read for a status row; `now` and `asks`, whether its questions are read, are expressions."""


def listed_row(values: Sequence[Any]) -> RunRow:
    """Return the status row with the values of `LISTED`."""
    run, title, created, updated, last_seq, status, detail, waiting_since, next_wake, *committed = values[:12]
    owner, epoch, unread, kind, format, *placement, asks = values[12:]
    summary = Summary(status, detail, waiting_since, next_wake, Amount(*committed), bytes(asks or b""))
    return RunRow(
        *(run, title, created, updated, last_seq, summary, owner, epoch, unread, kind, format),
        placement=Placement(*placement),
    )
