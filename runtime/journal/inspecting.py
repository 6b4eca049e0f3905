"""Reading a whole journal for a check: the port of what is stored, in one snapshot, and without changing it.

Nothing is repaired, and what cannot be read raises `JournalDamaged`, for the run that it belongs to.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from runtime.core.daily_budget import Account
from runtime.core.events import Record
from runtime.core.ledger import Amount
from runtime.journal.chain import Stored
from runtime.journal.port import InboxItem, RunRow


class StoredRun(NamedTuple):
    """The rows of a run that follow from its records, as they are stored."""

    row: RunRow
    """Its status row."""
    account: Account
    """What it has committed, as it was booked."""
    agenda: float | None
    """When hosts take it up; None for never."""
    unread: bool
    """Whether it is listed as a run with unread messages."""


class Inspection(Protocol):
    """A journal in one snapshot."""

    @property
    def runs(self) -> Sequence[str]:
        """The ids of all runs, in the order of their admission."""
        ...

    @property
    def lost(self) -> Sequence[str]:
        """The ids of runs that were in the journal and are gone, where the store can tell."""
        ...

    @property
    def may_lack_deleted(self) -> bool:
        """Whether runs may have been deleted."""
        ...

    def file_problems(self) -> Iterator[str]:
        """Yield what is wrong with the store itself, one line for each problem."""
        ...

    def stored(self, run: str) -> StoredRun:
        """Return the rows of a run. Raises `JournalDamaged`."""
        ...

    def check_chain(self, run: str) -> list[Stored]:
        """Return the rows of a run's records, verified by their chain. Raises `JournalDamaged`."""
        ...

    def records(self, run: str, chained: Sequence[Stored]) -> list[Record[Any]]:
        """Return the records of a run from their rows, as `check_chain` gives them, verified with their texts.

        Raises `JournalDamaged`, `KindUnknown`.
        """
        ...

    def appends(self, run: str) -> list[int]:
        """Return the place of the last record of each append."""
        ...

    def inbox(self, run: str) -> list[InboxItem]:
        """Return the posted messages of a run, verified by their seals. Raises `JournalDamaged`."""
        ...

    def last_posted(self, run: str) -> int:
        """Return the id of the last message that was posted to a run, where something else than its inbox says so."""
        ...

    def spending(self) -> dict[tuple[str, int], Amount]:
        """Return the totals of the days, of all runs (`HOME`) and of each tenant, by tenant and day."""
        ...
