"""The row of a run: all its data except records, messages and texts.

This module also defines the mark of moved runs. Pure.

The row is enough to decide whether a run is due and whether it has unread messages. The store's indices are computed
from the row.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from runtime.core.daily_budget import Account
from runtime.core.errors import JournalDamaged, RunMoved
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.chain import GENESIS, Tip, genesis
from runtime.journal.port import NEW, ORDINARY, Placement, RunRow

FIXED = "run, title, kind, format, tenant, priority, created"
"""The columns of the table `runs` whose values never change after a run was stored."""

CHANGING = (
    "owner, updated, status, detail, waiting_since, next_wake, last_seq, last_hash, last_posted, last_consumed,"
    " lease_end, epoch, calls, tokens, micro_usd, day, calls_before, micro_usd_before, near"
)
"""The columns of the table `runs` whose values operations change. Every store has an index on the first of these
columns, which rarely changes."""

LISTED = (
    f"{FIXED}, updated, status, detail, waiting_since, next_wake, last_seq, last_posted, last_consumed, epoch, calls,"
    " tokens, micro_usd, near"
)
"""The columns for the fields of a `RunRow`, except for its last two fields. The values of these two depend on the time
and on the query."""

COLUMNS = f"id, {FIXED}, {CHANGING}"
"""All columns of the table `runs`, in the order in which `read_head` expects their values."""


class RunHead(NamedTuple):
    """A run without its records, messages and texts. Times are UTC seconds since 1970."""

    run: str
    title: str
    kind: str
    format: int
    placement: Placement
    created: float
    updated: float
    summary: Summary
    """The summary of the run's state. Its open questions are present only if the reader requested them."""
    tip: Tip
    account: Account = Account()
    """The amount that the run has committed, and the last day to whose total it was added."""
    last_posted: int = 0
    last_consumed: int = 0
    """The highest id of a message that a record has consumed; 0 if no message was consumed."""
    owner: str | None = None
    """The name of the process that holds the run's lease, or `moved_owner(place)` for a moved run."""
    end: float = 0.0
    epoch: int = 0
    id: int = 0

    @property
    def start(self) -> Tip:
        """The hash with which the run's chain begins."""
        return Tip(0, genesis(self.kind, self.format))

    @property
    def unread(self) -> bool:
        """Whether the inbox has a message that no record has consumed; False for a finished run."""
        return self.summary.status != "finished" and self.last_posted > self.last_consumed

    @property
    def fixed(self) -> tuple[Any, ...]:
        """The values of `FIXED`."""
        return (self.run, self.title, self.kind, self.format, *self.placement, self.created)

    @property
    def changing(self) -> tuple[Any, ...]:
        """The values of `CHANGING`."""
        summary, (total, day, before) = self.summary, self.account
        return (
            self.owner,
            self.updated,
            summary.status,
            summary.detail,
            summary.waiting_since,
            summary.next_wake,
            *self.tip,
            self.last_posted,
            self.last_consumed,
            self.end,
            self.epoch,
            total.calls,
            total.tokens,
            total.micro_usd,
            day,
            before.calls,
            before.micro_usd,
            summary.near,
        )

    def row_at(self, now: float, *, asks: bool = True) -> RunRow:
        """Return the status row; it has no owner if the lease ended before `now`.

        With `asks`, it includes the open questions.
        """
        summary, total = self.summary, self.summary.committed
        return RunRow._make(
            (
                *self.fixed,
                *(self.updated, summary.status, summary.detail, summary.waiting_since, summary.next_wake),
                *(self.tip.seq, self.last_posted, self.last_consumed, self.epoch),
                *(total.calls, total.tokens, total.micro_usd, summary.near),
                self.owner if self.end > now else None,
                summary.asks if asks else b"",
            )
        )


def new_head(run: str, title: str, kind: str, format: int, placement: Placement = ORDINARY) -> RunHead:
    """Return the row of a run that is about to be admitted. All times in the row are 0."""
    return RunHead(run, title, kind, format, placement, 0.0, 0.0, NEW, Tip(0, genesis(kind, format)))


def check_head(head: RunHead) -> RunHead:
    """Return the row unchanged. Raises `JournalDamaged` if its values have types that no journal writes."""
    # In a damaged file a column may have a value of another type.
    format, seq, posted, digest = map(type, (head.format, head.tip.seq, head.last_posted, head.tip.hash))
    numbers = format is seq is posted is type(head.last_consumed) is type(head.epoch) is int
    if not numbers or digest is not bytes or type(head.kind) is not str or len(head.tip.hash) != len(GENESIS):
        raise JournalDamaged(f"run {head.run!r}", "the run's status row cannot be read")
    return head


def read_head(values: Sequence[Any], asks: bytes | None = None) -> RunHead:
    """Return the row from the values of `COLUMNS`, with the open questions `asks` if they were read.

    Damage is not detected, so that a list can show a damaged row among sound ones.
    """
    number, run, title, kind, format, tenant, priority, created, owner = values[:9]
    updated, status, detail, waiting_since, next_wake, last_seq, last_hash, last_posted, last_consumed = values[9:18]
    end, epoch, calls, tokens, micro_usd, day, calls_before, micro_usd_before, near = values[18:]
    total = Amount(calls, tokens, micro_usd)
    return RunHead(
        run,
        title,
        kind,
        format,
        Placement(tenant, priority),
        created,
        updated,
        Summary(status, detail, waiting_since, next_wake, total, asks or b"", near),
        Tip(last_seq, last_hash),
        Account(total, day, Amount(calls_before, 0, micro_usd_before)),
        last_posted,
        last_consumed,
        owner,
        end,
        epoch,
        number,
    )


_MOVED = "moved to "

MOVED_UNTIL = 253_402_300_799.0
"""The time at which the lease of a moved run ends, in UTC seconds since 1970: the end of the year 9999."""


def moved_owner(place: str) -> str:
    """Return the value of `owner` for a run that was moved to a place."""
    return f"{_MOVED}{place}"


def place_moved_to(owner: str | None) -> str | None:
    """Return the place to which a run was moved; None if the run was not moved."""
    return owner.removeprefix(_MOVED) if owner is not None and owner.startswith(_MOVED) else None


def check_here(run: str, owner: str | None) -> None:
    """Raise `RunMoved` if the run was moved to another journal."""
    place = place_moved_to(owner)
    if place is not None:
        raise RunMoved(run, place)
