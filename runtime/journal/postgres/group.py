"""The group of jobs that one transaction commits: what they ask for, and what they change in memory.

A job says beforehand what it is about, so that the transaction locks and reads it for the whole group in a few
statements. Then each job decides on the locked rows, in turn and in memory: it changes the group, or raises and changes
nothing. At the end all changes are written at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from runtime.core.daily_budget import Account, HomeBudget, book
from runtime.core.errors import HomeBudgetSpent, RunExists, RunNotFound
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from runtime.journal.chain import Stored, Tip, extend
from runtime.journal.port import InboxItem, Placement
from runtime.journal.postgres.batch import Batch
from runtime.journal.postgres.connecting import Cursor
from runtime.journal.postgres.rows import HeldRow
from runtime.journal.validation import Entry, check_consumable

T = TypeVar("T")

Change = Callable[[Batch], object]
"""Adds the statements of a job of its own kind, such as the presence of a host."""


TenantDay = tuple[str, int]
"""A tenant, or `HOME` for all runs, and a UTC day: what a total of spending is kept for."""


class NewRun(NamedTuple):
    """A run to admit."""

    run: str
    title: str
    kind: str
    format: int
    placement: Placement


@dataclass(frozen=True, slots=True, eq=False)
class Work(Generic[T]):
    """A job of a group."""

    decide: Callable[["Group"], T]
    """Changes the group and returns the result, or raises the reason why nothing is changed."""
    runs: tuple[str, ...] = ()
    """The runs that it is about."""
    new: NewRun | None = None
    """The run that it admits."""
    entries: Sequence[Entry[Any]] = ()
    """The events that it appends."""
    key: str | None = None
    """The key that it posts a message under."""
    alone: Callable[[Cursor, float], T] | None = None
    """Takes the place of `decide` in a transaction of its own; gets the time."""

    def __call__(self, group: "Group") -> T:
        """Decide."""
        return self.decide(group)

    @property
    def texts(self) -> dict[bytes, bytes]:
        """The texts of its events, by hash."""
        return {bytes.fromhex(digest): text for entry in self.entries for digest, text in entry.texts.items()}

    @property
    def size(self) -> int:
        """The bytes of its events and texts."""
        return sum(len(entry.body) + sum(map(len, entry.texts.values())) for entry in self.entries)

    @property
    def writes_early(self) -> bool:
        """Whether something of it is written before it decides."""
        return self.new is not None or any(entry.texts for entry in self.entries)


@dataclass
class Group:
    """What a transaction has locked and read, and what its jobs have changed so far."""

    now: float
    """The time, by the server's clock, after all locks were taken."""
    budget: HomeBudget
    """The daily budget."""
    totals: dict[TenantDay, Amount] | None = None
    """The totals of the days, if they are locked too; else the limits are checked as the totals are written."""
    runs: dict[str, HeldRow] = field(default_factory=dict)
    """The locked runs."""
    admitted: dict[str, HeldRow] = field(default_factory=dict)
    """The new runs that no job has taken yet."""
    messages: dict[tuple[int, str], InboxItem] = field(default_factory=dict)
    """The messages under keys that jobs ask about, by the run's number and the key."""
    fresh: dict[tuple[int, int], bool] = field(default_factory=dict)
    """The posted messages that jobs are to consume, and whether no record has consumed them."""
    changed: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The epoch and the last place that each changed run had when it was locked, by its number."""
    records: list[tuple[int, Stored, bool]] = field(default_factory=list)
    """New records with their runs' numbers, and whether they end an append."""
    named: set[tuple[bytes, int]] = field(default_factory=set)
    """The texts that runs name now."""
    asked: dict[int, bytes] = field(default_factory=dict)
    """The open questions of runs with new summaries, by number; empty for none."""
    posted: list[tuple[int, str, InboxItem]] = field(default_factory=list)
    """New messages with their runs' numbers and ids."""
    booked: dict[TenantDay, Amount] = field(default_factory=dict)
    """What is added to the totals of days."""
    raised: dict[TenantDay, Amount] = field(default_factory=dict)
    """The part of it that adds to a total."""
    limited: dict[TenantDay, Amount] = field(default_factory=dict)
    """The part of that which the limits hold for."""
    statements: list[Change] = field(default_factory=list)
    """Further statements."""
    wakes: bool = False
    """Whether hosts should look at the journal."""

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.changed or self.records or self.posted or self.statements)

    def held(self, run: str) -> HeldRow:
        """Return a locked row. Raises `RunNotFound`."""
        if run not in self.runs:
            raise RunNotFound(run)
        return self.runs[run]

    def admit(self, run: str) -> HeldRow:
        """Return the row of a new run. Raises `RunExists`."""
        if run not in self.admitted:
            raise RunExists(run)
        return self.admitted[run]

    def put(self, row: HeldRow) -> None:
        """Change a run's row."""
        before = self.runs.get(row.run) or self.admitted.pop(row.run)
        self.changed.setdefault(row.id, (before.epoch, before.tip.seq))
        self.runs[row.run] = row

    def extend(self, row: HeldRow, entries: Sequence[Entry[Any]], summary: Summary, *, overdraw: bool) -> list[Stored]:
        """Add entries to a run, under its epoch, and change its row. Raises `JournalError`, `HomeBudgetSpent`."""
        consumed = self._consumed(row, entries)
        account = self._book(row, summary, overdraw=overdraw)
        rows = extend(row.run, row.tip, row.epoch, self.now, entries)
        self.fresh.update(dict.fromkeys(consumed, False))
        self.records += [(row.id, stored, stored is rows[-1]) for stored in rows]
        self.named |= {(bytes.fromhex(digest), row.id) for entry in entries for digest in entry.texts}
        tip = Tip(rows[-1].seq, rows[-1].hash) if rows else row.tip
        last = max([row.last_consumed, *(inbox for _, inbox in consumed)])
        self.asked[row.id] = summary.asks
        self.wakes |= summary.status == "finished"
        self.put(row._replace(updated=self.now, summary=summary, tip=tip, last_consumed=last, account=account))
        return rows

    def _consumed(self, row: HeldRow, entries: Sequence[Entry[Any]]) -> list[tuple[int, int]]:
        consumed: list[tuple[int, int]] = []
        for inbox in (entry.inbox for entry in entries if entry.inbox is not None):
            place = row.id, inbox
            fresh = self.fresh.get(place, False) and place not in consumed
            check_consumable(row.run, inbox, posted=place in self.fresh, fresh=fresh)
            consumed.append(place)
        return consumed

    def budget_of(self, tenant: str) -> HomeBudget:
        """Return the budget of a tenant, or (`HOME`) of all runs."""
        return self.budget.of(tenant)[tenant]

    def _book(self, row: HeldRow, summary: Summary, *, overdraw: bool) -> Account:
        account, change = book(row.account, summary.committed, summary.reserved, self.now)
        if not (change.calls or change.micro_usd):
            return account
        keys = {(tenant, account.day): budget for tenant, budget in self.budget.of(row.placement.tenant).items()}
        if self.totals is not None:
            totals = {key: self.totals.get(key, ZERO) + change for key in keys}
            for key, budget in keys.items():
                if not overdraw and (limit := budget.shortfall(totals[key], change)):
                    raise HomeBudgetSpent(limit, budget.retry_at(self.now), budget)
            self.totals |= totals
        raised = Amount(calls=max(0, change.calls), micro_usd=max(0, change.micro_usd))
        for key in keys:
            self.raised[key] = self.raised.get(key, ZERO) + raised
            if not overdraw:
                self.limited[key] = self.limited.get(key, ZERO) + raised
            self.booked[key] = self.booked.get(key, ZERO) + change
        return account


@dataclass
class Decided:
    """The results of a group's jobs before it is committed."""

    results: dict[int, Any] = field(default_factory=dict)
    """The results by the job's place."""
    errors: dict[int, Exception] = field(default_factory=dict)
    """The reasons of those that changed nothing."""


def decide(group: Group, works: Mapping[int, Work[Any]]) -> Decided:
    """Let every job decide, in order."""
    decided = Decided()
    for place, work in works.items():
        try:
            decided.results[place] = work(group)
        except Exception as error:  # noqa: BLE001 -- the caller of the job raises it
            decided.errors[place] = error
    return decided
