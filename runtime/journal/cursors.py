"""Cursors: the progress of programs that copy records elsewhere, such as exporters of traces and senders of webhooks.

A cursor has a name, and for each run the number of the last copied record. It is stored outside the records and never
changes them. A lease allows only one process at a time to hold a cursor. So each record is copied at least once, and
twice only if a process died before it moved the cursor.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

CURSOR_LIMIT = 200
"""How many runs are listed at a time."""


class Behind(NamedTuple):
    """A run with records that a cursor has not passed."""

    number: int
    """The number of the run in the order of admission. The next part of the list begins after it."""
    run: str
    kind: str
    format: int
    """The version of the run's kind's format."""
    position: int
    """The number of the last record that the cursor has passed; 0 for none."""
    last_seq: int
    """The number of the run's last record."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of runs of one kind with one status. Times are UTC seconds since 1970."""

    kind: str
    status: str
    """The status in the rows of the runs."""
    runs: int
    """The number of runs."""
    waiting_since: float | None = None
    """Since when the longest waiting run has waited for a person."""
    undriven_since: float | None = None
    """The last change of the run that has been due without a driver for the longest time."""


class Cursors(Protocol):
    """The part of a journal that keeps cursors and counts runs."""

    async def hold_cursor(
        self, name: str, owner: str, ttl: float, *, dead: Callable[[str], bool], skip: frozenset[str] = frozenset()
    ) -> bool:
        """Hold a cursor for `ttl` seconds from now. Return False if another process holds it.

        A new cursor starts after all records of the runs whose status is in `skip`. The hold of an owner that is
        certainly `dead` is ignored.
        """

    async def leave_cursor(self, name: str, owner: str) -> None:
        """End the hold of a cursor now. Without a hold of this process, do nothing."""

    async def move_cursor(self, name: str, owner: str, positions: Mapping[str, int]) -> bool:
        """Let the cursor pass the records up to these numbers, in one durable transaction; it never goes back.

        Return False and change nothing if this process does not hold it. Deleted runs are ignored.
        """

    async def behind(self, name: str, limit: int = CURSOR_LIMIT, *, beyond: int = 0) -> list[Behind]:
        """Return the runs with records that the cursor has not passed, in the order of admission, after a number."""

    async def tally(self) -> list[Tally]:
        """Count the runs by kind and status."""
