"""The port of a journal that runs are archived from: a run is read in parts, so that its size does not matter."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from runtime.core.daily_budget import Account
from runtime.core.machine import Summary
from runtime.journal.chain import Stored, Tip
from runtime.journal.port import ORDINARY, Dead, Deleted, InboxItem, Placement

PART = 256
"""How many rows of records, or messages, are read at once."""


class RunHead(NamedTuple):
    """A run without its records, messages and texts."""

    run: str
    title: str
    kind: str
    format: int
    created: float
    updated: float
    summary: Summary
    epoch: int
    account: Account
    """What it has committed, and on which day that was booked."""
    tip: Tip
    """The end of its chain."""
    last_posted: int
    """The id of its last message, or 0."""
    placement: Placement = ORDINARY


class Store(Protocol):
    """A journal that runs are archived from. Every call sees what is committed then."""

    def head(self, run: str) -> RunHead:
        """Return a run without its contents. Raises `RunNotFound`, `JournalDamaged`."""
        ...

    def size(self, run: str) -> int:
        """Return the bytes of a run's records and messages, and of the texts that it names."""
        ...

    def records(self, run: str, after: int) -> tuple[list[Stored], frozenset[int]]:
        """Return the next records after a place, about `PART` rows of the store, and which of them end an append.

        They are not verified. There is none after the last one.
        """
        ...

    def messages(self, run: str, after: int) -> list[InboxItem]:
        """Return the next messages with an id above `after`, at most `PART`. Raises `JournalDamaged`."""
        ...

    def text(self, digest: bytes) -> bytes | None:
        """Return the text with this hash."""
        ...

    def remove(self, heads: Sequence[RunHead], dead: Dead) -> Deleted:
        """Delete runs in one transaction, if they are as the heads say: nothing was appended or posted since.

        Raises `RunNotFound`, `Held`, `RunMoved`, `SequenceConflict`; then none is deleted.
        """
        ...
