"""What a journal in memory has committed: its runs, texts, days and hosts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from runtime.core.daily_budget import Account
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.chain import Stored, Tip
from runtime.journal.memory_cursors import MemoryCursor
from runtime.journal.port import NEW, ORDINARY, HostRow, InboxItem, Placement, RunFilter
from runtime.journal.slots import Slots
from runtime.journal.validation import Entry, check_consumable

E = TypeVar("E")


@dataclass
class HeldRun:
    """A run: its status row, its records and its messages."""

    title: str
    kind: str
    format: int
    created: float
    updated: float
    first: Tip
    summary: Summary = NEW
    rows: list[Stored] = field(default_factory=list)
    posted: list[InboxItem] = field(default_factory=list)
    consumed: set[int] = field(default_factory=set)
    owner: str | None = None
    lease_end: float = 0.0
    epoch: int = 0
    account: Account = field(default_factory=Account)
    placement: Placement = ORDINARY

    @property
    def unread(self) -> bool:
        """Whether a message waits for a driver."""
        return self.summary.status != "finished" and len(self.posted) > max(self.consumed, default=0)

    @property
    def tip(self) -> Tip:
        """The end of its chain."""
        return Tip(len(self.rows), self.rows[-1].hash) if self.rows else self.first


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


def matches(which: RunFilter, run: str, held: HeldRun) -> bool:
    """Tell whether a run is among those that are listed."""
    if which.status is not None and held.summary.status != which.status:
        return False
    if which.asks and not held.summary.asks:
        return False
    if not (held.title.startswith(which.title_start) and run.startswith(which.run_start)):
        return False
    since, before = held.summary.waiting_since, which.waiting_since_before
    return before is None or (since is not None and since < before)


def consumed_by(run: str, held: HeldRun, entries: Sequence[Entry[E]]) -> set[int]:
    """Return the messages that entries consume. Raises `JournalError` for one that cannot be consumed."""
    consumed: set[int] = set()
    for inbox in (entry.inbox for entry in entries if entry.inbox is not None):
        check_consumable(run, inbox, posted=0 < inbox <= len(held.posted), fresh=inbox not in held.consumed | consumed)
        consumed.add(inbox)
    return consumed
