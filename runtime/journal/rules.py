"""The rules of every journal: they decide how an operation changes rows that the store has read under a lock. Pure.

A store carries out a `RunOperation` in a transaction: it reads the values that the operation needs (`Locked`), calls
`decide`, and writes the `Change`. If `decide` raises an error, nothing is changed. `due` decides which runs are due.
For databases, the same rule is written in SQL too, so that they need not read all runs.
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from runtime.core.daily_budget import HomeBudget, book
from runtime.core.errors import Fenced, Held, HomeBudgetSpent, JournalError, RunExists, RunMoved, SequenceConflict
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.chain import FIRST_EPOCH, Stored, Tip, extend
from runtime.journal.head import MOVED_UNTIL, RunHead, check_here, moved_owner, place_moved_to
from runtime.journal.port import Dead, Due, Formats, InboxItem, Posted, check_drivable, is_drivable
from runtime.journal.validation import Entry

T = TypeVar("T")


class Locked(NamedTuple):
    """The locked values on which an operation decides."""

    head: RunHead
    """The row of the operation's run, or of the run that it admits."""
    now: float
    """The time at which all locks had been taken."""
    message: InboxItem | None = None
    """The message that was posted earlier under the operation's key; None if there is none."""
    fresh: Mapping[int, bool] = {}
    """For the id of each posted message to consume: whether no record has consumed the message yet."""


class Booking(NamedTuple):
    """An amount to add to a tenant's total of a day."""

    day: int
    change: Amount
    overdraw: bool


class Change(NamedTuple, Generic[T]):
    """The changes that an operation makes."""

    result: T
    head: RunHead | None = None
    """The row of the run after the operation; None if nothing changes."""
    records: Sequence[Stored] = ()
    asks: bytes | None = None
    """The open questions after the operation; None if they do not change."""
    posted: InboxItem | None = None
    booking: Booking | None = None


class RunOperation(NamedTuple, Generic[T]):
    """An operation on one run: the values that the store has to read, and the function that decides."""

    operation: str
    run: str
    decide: Callable[[Locked], Change[T]]
    """A function that returns the change, or raises the error that prevents a change."""
    new: RunHead | None = None
    """The row of the run to admit. The store raises `RunExists` if the run exists."""
    entries: Sequence[Entry[Any]] = ()
    key: str | None = None
    resumes: bool = False
    """Whether the caller will continue after the run's last record. If so, the store checks that no records are
    missing.
    """

    @property
    def texts(self) -> dict[bytes, bytes]:
        """The texts of the events to append, by hash."""
        return {bytes.fromhex(digest): text for entry in self.entries for digest, text in entry.texts.items()}

    @property
    def consumes(self) -> list[int]:
        """The ids of the messages that the events to append consume."""
        return [entry.inbox for entry in self.entries if entry.inbox is not None]


def admit(
    locked: Locked, entries: Sequence[Entry[Any]], summary: Summary, *, owner: str | None, ttl: float, overdraw: bool
) -> Change[Sequence[Stored]]:
    """Admit a run with its first records. If `owner` is not None, it then holds the run's lease for `ttl` seconds."""
    head = locked.head
    if owner is not None:
        head = head._replace(owner=owner, end=locked.now + ttl)
    if entries or owner is not None:
        head = head._replace(epoch=FIRST_EPOCH)
    return _extend(locked._replace(head=head), entries, summary, overdraw=overdraw)


def claim(locked: Locked, owner: str, ttl: float, dead: Dead, kinds: Formats | None) -> Change[RunHead]:
    """Claim the lease under a new epoch. Raises `KindUnknown`, `Held`, `RunMoved`."""
    head, now = locked.head, locked.now
    check_drivable(kinds, head.run, head.kind, head.format)
    _check_free(head, now, dead)
    new_head = head._replace(owner=owner, end=now + ttl, epoch=head.epoch + 1)
    return Change(new_head, new_head)


def renew(locked: Locked, epoch: int, ttl: float) -> Change[None]:
    """Extend the lease. Raises `Fenced`."""
    check_driver(locked.head, epoch)
    return Change(None, locked.head._replace(end=locked.now + ttl))


def release(locked: Locked, epoch: int) -> Change[None]:
    """End the lease. For an older `epoch`, do nothing."""
    head = locked.head
    if head.epoch != epoch or head.owner is None:
        return Change(None)
    return Change(None, head._replace(owner=None))


def append(
    locked: Locked, entries: Sequence[Entry[Any]], summary: Summary, *, after: int, epoch: int, overdraw: bool
) -> Change[Sequence[Stored]]:
    """Add records after the record with the number `after`. Raises `Fenced`, `SequenceConflict`, `JournalError`."""
    head = locked.head
    check_driver(head, epoch)
    if head.tip.seq != after:
        raise SequenceConflict(head.run, after, head.tip.seq)
    return _extend(locked, entries, summary, overdraw=overdraw)


def post(locked: Locked, key: str, body: str) -> Change[Posted]:
    """Post a message. If the run already has a message with this key, nothing is posted. Raises `RunMoved`."""
    head, item = locked.head, locked.message
    check_here(head.run, head.owner)
    if item is not None:
        return Change(Posted("duplicate" if item.body == body else "conflict", item.inbox, item.body))
    new = InboxItem(head.last_posted + 1, key, body, locked.now)
    return Change(Posted("accepted", new.inbox, body), head._replace(last_posted=new.inbox), posted=new)


def move(locked: Locked, place: str, dead: Dead) -> Change[None]:
    """Mark a run as moved to another journal, and raise its epoch. A run that already has this mark is not changed.

    Raises `Held`, and `RunMoved` for a run that was moved elsewhere.
    """
    head = locked.head
    if place_moved_to(head.owner) == place:
        return Change(None)
    _check_free(head, locked.now, dead)
    return Change(None, head._replace(owner=moved_owner(place), end=MOVED_UNTIL, epoch=head.epoch + 1))


def keep(locked: Locked, place: str) -> Change[None]:
    """Remove the mark of a run that could not be moved to `place`. A run without this mark is not changed."""
    head = locked.head
    return Change(None, head._replace(owner=None, end=0.0) if place_moved_to(head.owner) == place else None)


def receive(copy: RunHead, found: RunHead, source: str, *, has_tip: bool) -> RunHead | None:
    """Compare a copy with the run that has its id in the target.

    Return the run's changed row, or None if it does not change.

    `has_tip` tells whether the copy's last record is among the run's records. If so, and if the run's epoch is not
    older, the target has this copy already. The changed row then lacks a mark as moved to `source`, which an
    interrupted copying may have left. Otherwise, raises `RunMoved` if the run was moved away from the target, or
    `RunExists` if it was not.
    """
    place = place_moved_to(found.owner)
    if has_tip and found.epoch >= copy.epoch:
        return found._replace(owner=None, end=0.0) if source and place == source else None
    if place is not None:
        raise RunMoved(copy.run, place)
    raise RunExists(copy.run)


def due(runs: Iterable[RunHead], limit: int, now: float, dead: Dead, kinds: Formats | None) -> Due:
    """Return the work of a host, as `Journal.due` does. `runs` must be in the order of admission."""
    free, unread, later = list[RunHead](), set[str](), list[float]()
    for head in runs:
        if not is_drivable(kinds, head.kind, head.format):
            continue
        at = head.summary.due if head.tip.seq else None
        if at is not None and at > now:
            later.append(at)
        if head.owner is not None and head.end > now and not dead(head.owner):
            unread |= {head.run} if head.unread else set()
        elif head.tip.seq and ((at is not None and at <= now) or (head.unread and head.summary.status != "parked")):
            free.append(head)
    free.sort(key=lambda head: -head.placement.priority)
    return Due(tuple(head.run for head in free[: max(0, limit)]), frozenset(unread), min(later, default=None))


def may_hold(holder: str | None, until: float, owner: str, now: float, dead: Dead) -> bool:
    """Return whether `owner` can take a cursor that `holder` holds until the time `until`."""
    return holder in (None, owner) or until <= now or dead(str(holder))


def _check_free(head: RunHead, now: float, dead: Dead) -> None:
    """Raise `RunMoved` if the run was moved, or `Held` if the lease is valid and its owner has not certainly ended."""
    check_here(head.run, head.owner)
    if head.owner is not None and head.end > now and not dead(head.owner):
        raise Held(head.run, head.owner, head.end)


def check_driver(head: RunHead, epoch: int) -> None:
    """Raise `Fenced` if the run was not claimed under this epoch, or was released since then."""
    if head.epoch != epoch or head.owner is None:
        raise Fenced(head.run, epoch, head.epoch)


def check_deletable(head: RunHead, last_seq: int, now: float, dead: Dead) -> None:
    """Raise `RunMoved`, `Held`, or `SequenceConflict` if the number of the last record is not `last_seq`."""
    _check_free(head, now, dead)
    if head.tip.seq != last_seq:
        raise SequenceConflict(head.run, last_seq, head.tip.seq)


def check_moved(head: RunHead, read: RunHead, place: str) -> None:
    """Raise `Fenced` if a run is not marked as moved to a place, or has changed since it was read."""
    now = head.epoch, head.tip, head.last_posted
    if place_moved_to(head.owner) != place or now != (read.epoch, read.tip, read.last_posted):
        raise Fenced(head.run, read.epoch, head.epoch)


def check_total(budget: HomeBudget, total: Amount, booking: Booking, now: float) -> None:
    """Raise `HomeBudgetSpent` if a booking would make the total of a day exceed a limit."""
    if not booking.overdraw and (limit := budget.shortfall(total, booking.change)):
        raise HomeBudgetSpent(limit, budget.retry_at(now), budget)


def _extend(
    locked: Locked, entries: Sequence[Entry[Any]], summary: Summary, *, overdraw: bool
) -> Change[Sequence[Stored]]:
    """Append entries to a run under its epoch, and change its row."""
    head, now = locked.head, locked.now
    consumed = _consumed_messages(locked, entries)
    account, change = book(head.account, summary.committed, summary.reserved, now)
    rows = extend(head.run, head.tip, head.epoch, now, entries)
    tip = Tip(rows[-1].seq, rows[-1].hash) if rows else head.tip
    last = max(head.last_consumed, *consumed) if consumed else head.last_consumed
    after = head._replace(updated=now, summary=summary, tip=tip, account=account, last_consumed=last)
    booking = Booking(account.day, change, overdraw) if change.calls or change.micro_usd else None
    return Change(rows, after, rows, summary.asks, booking=booking)


def _consumed_messages(locked: Locked, entries: Sequence[Entry[Any]]) -> set[int]:
    """Return the ids of the messages that the entries consume. Raises `JournalError` if one cannot be consumed."""
    consumed, run = set[int](), locked.head.run
    for inbox in (entry.inbox for entry in entries if entry.inbox is not None):
        if inbox not in locked.fresh:
            raise JournalError(f"run {run!r}: no message {inbox} was posted")
        if not locked.fresh[inbox] or inbox in consumed:
            raise JournalError(f"run {run!r}: the posted message {inbox} was already consumed")
        consumed.add(inbox)
    return consumed


_NAME = re.compile(rb'(?<=")[A-Za-z0-9_-]{43}(?=")')
"""A pattern for a JSON string that consists of a SHA-256 hash in base64 without padding. Events refer to texts by such
hashes; see `runtime.core.events`."""


def named_texts(bodies: Iterable[bytes]) -> set[bytes]:
    """Return the hashes of all texts to which stored events may refer, each 32 bytes long."""
    return {_hash(name) for body in bodies for name in _NAME.findall(body)}


def _hash(name: bytes) -> bytes:
    return base64.urlsafe_b64decode(name + b"=")
