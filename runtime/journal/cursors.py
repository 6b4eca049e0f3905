"""Cursors: the progress of programs that copy records elsewhere, such as exporters of traces and senders of webhooks.

A cursor has a name, and for each run the place of the last record that was copied. It is kept beside the records and
never changes them. One process holds a cursor at a time, by a lease; so a copy is made at least once, and twice only
where its process died before it moved the cursor.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

CURSOR_LIMIT = 200
"""How many runs are listed at a time."""


class Behind(NamedTuple):
    """A run that has records which a cursor has not passed."""

    number: int
    """Its place in the order of admission; the list goes on after it."""
    run: str
    kind: str
    format: int
    """The version of its kind's format."""
    position: int
    """The place of the last record that the cursor has passed; 0 for none."""
    last_seq: int
    """The place of its last record."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The runs of one kind with one status, counted. Times are UTC seconds since 1970."""

    kind: str
    status: str
    """The status of their rows."""
    runs: int
    """How many there are."""
    waiting_since: float | None = None
    """The time since which the first of them has waited for a person."""
    undriven_since: float | None = None
    """The last change of the run that has been due and undriven for the longest time."""


class Cursors(Protocol):
    """The part of a journal that keeps cursors and counts runs."""

    async def hold_cursor(
        self, name: str, owner: str, ttl: float, *, dead: Callable[[str], bool], skip: frozenset[str] = frozenset()
    ) -> bool:
        """Hold a cursor for `ttl` seconds from now; return False where another process holds it.

        A new cursor has passed all records of the runs whose status is in `skip`. A holder that `dead` proves to be
        gone holds nothing.
        """

    async def leave_cursor(self, name: str, owner: str) -> None:
        """End the hold now; a no-op for a process that does not hold it."""

    async def move_cursor(self, name: str, owner: str, positions: Mapping[str, int]) -> bool:
        """Let the cursor pass the records up to these places, in one durable transaction; it never goes back.

        Return False, and change nothing, for a process that does not hold it. Runs that were deleted are left out.
        """

    async def behind(self, name: str, limit: int = CURSOR_LIMIT, *, beyond: int = 0) -> list[Behind]:
        """Return the runs with records that the cursor has not passed, in the order of admission, after a number."""

    async def tally(self) -> list[Tally]:
        """Count the runs by kind and status."""
