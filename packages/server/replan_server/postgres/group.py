"""The group of jobs that one transaction commits: their requests, and their changes in memory.

A job is a change of one run. It names in advance the rows that it needs (`runtime.journal.rules.RunOperation`). So the
transaction locks and reads the rows of the whole group in a few statements. Then one job after the other decides, in
memory, what to write. A job changes the group, or raises and changes nothing. At the end, all changes are written at
once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from replan_server.postgres.connecting import Cursor
from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import RunExists, RunNotFound
from runtime.core.ledger import ZERO, Amount
from runtime.journal import rules
from runtime.journal.chain import Stored
from runtime.journal.head import RunHead
from runtime.journal.port import InboxItem
from runtime.journal.rules import Change, Locked, RunOperation

T = TypeVar("T")

TenantDay = tuple[str, int]
"""The key of an amount spent on one day: a tenant, or `HOME` for all runs together, and the number of the UTC day."""


class Alone(NamedTuple, Generic[T]):
    """A job that needs a transaction of its own."""

    run: Callable[[Cursor, float], T]
    """The function of the job, which gets a cursor and the time."""


Request = RunOperation[Any] | Alone[Any]


def size_of(work: Request) -> int:
    """Return the number of bytes of a job's events and texts."""
    entries = work.entries if isinstance(work, RunOperation) else ()
    return sum(len(entry.body) + sum(map(len, entry.texts.values())) for entry in entries)


def writes_early(work: RunOperation[Any]) -> bool:
    """Return whether the transaction must write a part of the job (a new run or texts) before the job decides."""
    return work.new is not None or any(entry.texts for entry in work.entries)


@dataclass
class Group:
    """The locked rows of a transaction, and the changes of its jobs so far."""

    now: float
    """The time, by the server's clock, after all locks were taken."""
    budget: HomeBudget
    totals: dict[TenantDay, Amount] | None = None
    """The total of each tenant and day; None if the totals are not locked. In this case, the limits are checked only
    when the totals are written.
    """
    runs: dict[str, RunHead] = field(default_factory=dict)
    admitted: dict[str, RunHead] = field(default_factory=dict)
    messages: dict[tuple[int, str], InboxItem] = field(default_factory=dict)
    """The posted messages that jobs look up, by the run's number and the key."""
    fresh: dict[tuple[int, int], bool] = field(default_factory=dict)
    """The posted messages that jobs will consume, and whether each of them is still unconsumed."""
    changed: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The epoch and the last record number of each changed run when it was locked, by the run's number."""
    records: list[tuple[int, Stored, bool]] = field(default_factory=list)
    """New records, each with the number of its run, and whether the record is the last of an append."""
    named: set[tuple[bytes, int]] = field(default_factory=set)
    asked: dict[int, bytes] = field(default_factory=dict)
    """The open questions of each run with a new summary, by the run's number; empty if the run has no open question."""
    posted: list[tuple[int, str, InboxItem]] = field(default_factory=list)
    booked: dict[TenantDay, Amount] = field(default_factory=dict)
    """The amounts by which this group changes the total of each tenant and day."""
    raised: dict[TenantDay, Amount] = field(default_factory=dict)
    """The part of `booked` that increases a total."""
    limited: dict[TenantDay, Amount] = field(default_factory=dict)
    """The part of `raised` that counts against the limits."""
    wakes: bool = False
    """Whether hosts must be told to look at the journal, because there is new work."""

    def carry_out(self, work: RunOperation[T]) -> T:
        """Let a job decide, and add its changes to the group. If the job raises, the group stays unchanged."""
        if work.new is None:
            before = self.runs.get(work.run)
            if before is None:
                raise RunNotFound(work.run)
        else:
            before = self.admitted.get(work.run)
            if before is None:
                raise RunExists(work.run)
        message = None if work.key is None else self.messages.get((before.id, work.key))
        fresh = {
            consume: self.fresh[before.id, consume] for consume in work.consumes if (before.id, consume) in self.fresh
        }
        change = work.decide(Locked(before, self.now, message, fresh))
        if change.head is not None:
            self._book_amount(change, change.head)
            self._put(before, change.head)
            self._add(change, change.head, work)
        return change.result

    def _put(self, before: RunHead, head: RunHead) -> None:
        self.admitted.pop(head.run, None)
        self.changed.setdefault(head.id, (before.epoch, before.tip.seq))
        self.runs[head.run] = head
        self.wakes |= head.owner is None and (head.summary.due is not None or head.unread)

    def _add(self, change: Change[Any], head: RunHead, work: RunOperation[Any]) -> None:
        self.records += [(head.id, stored, stored is change.records[-1]) for stored in change.records]
        self.named |= {(digest, head.id) for digest in work.texts}
        self.fresh.update(((head.id, consume), False) for consume in work.consumes)
        if change.asks is not None:
            self.asked[head.id] = change.asks
            self.wakes |= head.summary.status == "finished"
        if change.posted is not None and work.key is not None:
            self.messages[head.id, work.key] = change.posted
            self.posted.append((head.id, head.run, change.posted))
            self.wakes = True

    def _book_amount(self, change: Change[Any], head: RunHead) -> None:
        booking = change.booking
        if booking is None:
            return
        amount = booking.change
        keys = {(tenant, booking.day): budget for tenant, budget in self.budget.of(head.placement.tenant).items()}
        if self.totals is not None:
            totals = {key: self.totals.get(key, ZERO) + amount for key in keys}
            for key, budget in keys.items():
                rules.check_total(budget, totals[key], booking, self.now)
            self.totals |= totals
        raised = Amount(calls=max(0, amount.calls), micro_usd=max(0, amount.micro_usd))
        for key in keys:
            self.raised[key] = self.raised.get(key, ZERO) + raised
            if not booking.overdraw:
                self.limited[key] = self.limited.get(key, ZERO) + raised
            self.booked[key] = self.booked.get(key, ZERO) + amount


@dataclass
class GroupResults:
    """The results of a group's jobs before the group is committed."""

    results: dict[int, Any] = field(default_factory=dict)
    errors: dict[int, Exception] = field(default_factory=dict)


def decide(group: Group, works: Mapping[int, RunOperation[Any]]) -> GroupResults:
    """Let every job decide, in order. Return the results and the errors."""
    decided = GroupResults()
    for place, work in works.items():
        try:
            decided.results[place] = group.carry_out(work)
        except Exception as error:  # noqa: BLE001 -- the caller of the job raises it
            decided.errors[place] = error
    return decided
