"""What a journal in memory has committed: dictionaries, how they are read, and how a decision changes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import RunExists, RunNotFound
from runtime.core.ledger import ZERO, Amount
from runtime.journal import rules
from runtime.journal.chain import Stored
from runtime.journal.deletion import named_texts
from runtime.journal.head import RunHead
from runtime.journal.port import Dead, Deleted, HostRow, InboxItem
from runtime.journal.raw import Part, Reader, part_of
from runtime.journal.rules import Change, Locked, Work
from runtime.journal.slots import Slots

T = TypeVar("T")


@dataclass
class HeldRun:
    """A run: its row, its records and its messages."""

    head: RunHead
    rows: list[Stored] = field(default_factory=list)
    posted: list[InboxItem] = field(default_factory=list)

    @property
    def consumed(self) -> set[int]:
        """The messages that records have consumed."""
        return {row.inbox for row in self.rows if row.inbox is not None}


@dataclass
class MemoryCursor:
    """What a store keeps of one cursor."""

    owner: str | None = None
    """The process that holds it; None for nobody."""
    until: float = 0.0
    """When the hold ends (UTC seconds since 1970)."""
    positions: dict[str, int] = field(default_factory=dict)
    """The place of the last record that it has passed, by run."""


@dataclass
class MemoryStore:
    """What was committed to a journal in memory. It stays when the journal is closed, and can be opened again."""

    runs: dict[str, HeldRun] = field(default_factory=dict)
    """The runs by their ids, in the order of their admission."""
    texts: dict[str, bytes] = field(default_factory=dict)
    """The long texts of all events, each stored once, by its hash in hex."""
    days: dict[tuple[str, int], Amount] = field(default_factory=dict)
    """What the runs of each tenant, and all together, have committed on each UTC day; days are counted from 1970."""
    hosts: dict[str, HostRow] = field(default_factory=dict)
    """The hosts that have announced themselves and not departed, by id; the presence of some may have ended."""
    cursors: dict[str, MemoryCursor] = field(default_factory=dict)
    """The cursors by name."""
    slots: dict[str, dict[str, tuple[Slots, float]]] = field(default_factory=dict)
    """What each host has of the slots for each provider, and when that ends."""
    version: int = 0
    """The number of commits so far, as `Journal.version` returns it."""

    def held(self, run: str) -> HeldRun:
        """Return a run. Raises `RunNotFound`."""
        if run not in self.runs:
            raise RunNotFound(run)
        return self.runs[run]

    def carry_out(self, work: Work[T], now: float, budget: HomeBudget) -> T:
        """Let a work decide, and change the store; raise the reason before anything has changed."""
        if work.new is not None and work.run in self.runs:
            raise RunExists(work.run)
        new = work.new and HeldRun(work.new._replace(created=now, updated=now))
        held = new or self.held(work.run)
        message = next((item for item in held.posted if item.key == work.key), None)
        consumes = [inbox for inbox in work.consumes if 0 < inbox <= len(held.posted)]
        consumed = held.consumed if consumes else set[int]()
        change = work.decide(Locked(held.head, now, message, {inbox: inbox not in consumed for inbox in consumes}))
        self.days |= self._booked(change, now, budget)
        if change.head is not None:
            held.head = change.head
        held.rows += change.records
        held.posted += [change.posted] if change.posted is not None else []
        for entry in work.entries:
            self.texts.update(entry.texts)
        self.runs[work.run] = held
        return change.result

    def _booked(self, change: Change[Any], now: float, budget: HomeBudget) -> dict[tuple[str, int], Amount]:
        """Return the new totals of days. Raises `HomeBudgetSpent`."""
        booking, days = change.booking, dict[tuple[str, int], Amount]()
        if booking is None or change.head is None:
            return days
        for tenant, limits in budget.of(change.head.placement.tenant).items():
            key = tenant, booking.day
            days[key] = self.days.get(key, ZERO) + booking.change
            rules.check_total(limits, days[key], booking, now)
        return days

    def delete(self, runs: Mapping[str, int], now: float, dead: Dead) -> Deleted:
        """As `Journal.delete`."""
        for run, last_seq in runs.items():
            rules.check_deletable(self.held(run).head, last_seq, now, dead)
        deleted = [self.runs.pop(run) for run in runs]
        for cursor in self.cursors.values():
            cursor.positions = {run: seq for run, seq in cursor.positions.items() if run not in runs}
        unused = {digest.hex() for digest in _named(deleted) - _named(self.runs.values())} & self.texts.keys()
        sizes = [len(self.texts.pop(digest)) for digest in unused]
        return Deleted(len(deleted), len(sizes), sum(sizes))


def _named(runs: Iterable[HeldRun]) -> set[bytes]:
    return named_texts(row.body for held in runs for row in held.rows)


class MemoryReader(Reader):
    """A snapshot of a store in memory."""

    def __init__(self, store: MemoryStore, now: float) -> None:
        """Take the store and the time."""
        self._store, self.now = store, now

    def names(self, *, recorded: bool = False) -> list[str]:
        """As `Reader.names`."""
        return [run for run, held in self._store.runs.items() if held.rows or not recorded]

    def head(self, run: str, *, asks: bool = False) -> RunHead:  # noqa: ARG002 -- they are at hand
        """As `Reader.head`."""
        return self._store.held(run).head

    def part(self, head: RunHead, after: int, rows: int | None = None) -> Part:
        """As `Reader.part`; each row is taken for an append."""
        stored = self._store.held(head.run).rows
        return part_of(head, stored, frozenset(row.seq for row in stored), after, rows)

    def messages(self, run: str, after: int, limit: int | None = None) -> list[InboxItem]:
        """As `Reader.messages`."""
        return self._store.held(run).posted[max(0, after) :][:limit]

    def text(self, digest: str) -> bytes | None:
        """As `Reader.text`."""
        return self._store.texts.get(digest)

    def hosts(self) -> list[HostRow]:
        """As `Reader.hosts`."""
        return [row for row in self._store.hosts.values() if row.until > self.now]

    def spending(self) -> dict[tuple[str, int], Amount]:
        """As `Reader.spending`."""
        return self._store.days
