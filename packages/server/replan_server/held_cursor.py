"""A cursor in the journal that marks which records a process has sent. Only one process at a time holds the cursor."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import trio

from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.journal.port import Behind, Journal
from runtime.logs import log
from runtime.process.identity import identity, is_dead

LEASE_SECONDS = 60.0
"""For how many seconds a process holds a cursor unless it renews the lease. The process renews the lease after half of
this time."""
UNREADABLE = (JournalDamaged, RunNotFound, KindUnknown, UsageProblem)
"""The errors that mean that this process cannot read a run."""
LEAVE_SECONDS = 2.0
"""The time limit in seconds for releasing a cursor. If the release fails, the cursor becomes free when its lease
ends."""


class HeldCursor:
    """A cursor that this process holds or tries to hold."""

    def __init__(
        self, journal: Journal[Any], name: str, *, passed: frozenset[str], topic: str, ask_seconds: float = 0.0
    ) -> None:
        """Prepare to hold the cursor `name`. A new cursor skips the records of runs with a status in `passed`."""
        self._journal, self._name, self._passed = journal, name, passed
        self._owner, self._topic, self._ask_seconds = identity(), topic, ask_seconds
        self._left_out: set[str] = set()
        self._until, self._ask_at = -1.0, -1.0

    @property
    def is_held(self) -> bool:
        """Whether this process holds the cursor."""
        return self._until > trio.current_time()

    async def hold(self) -> bool:
        """Claim the cursor, or renew the claim. Return whether this process holds the cursor. Raises `JournalError`."""
        now = trio.current_time()
        if now >= self._ask_at:
            held = await self._journal.hold_cursor(
                self._name, self._owner, LEASE_SECONDS, dead=is_dead, skip=self._passed
            )
            self._until = now + LEASE_SECONDS if held else -1.0
            self._ask_at = now + (LEASE_SECONDS / 2 if held else self._ask_seconds)
        return self.is_held

    async def behind(self) -> AsyncGenerator[Behind]:
        """Yield the runs with records after the cursor, except the runs that `leave_out` has excluded."""
        beyond = 0
        while rows := await self._journal.behind(self._name, beyond=beyond):
            beyond = rows[-1].number
            for row in rows:
                if row.run not in self._left_out:
                    yield row

    def leave_out(self, run: str, error: Exception) -> None:
        """Exclude a run that this process cannot read.

        The cursor stays before the run's records, because another process may be able to read them.
        """
        self._left_out.add(run)
        log.get_logger(self._topic).warning("run.left_out", run_id=run, reason=str(error))

    async def move(self, positions: Mapping[str, int]) -> bool:
        """Move the cursor to a record of each run in `positions`.

        Return False if another process holds the cursor now.
        """
        moved = await self._journal.move_cursor(self._name, self._owner, positions)
        if not moved:
            self.lose()
        return moved

    def lose(self) -> None:
        """Treat the cursor as held by another process until `hold` claims it again."""
        self._until = self._ask_at = -1.0

    async def leave(self) -> None:
        """Release the cursor, so that another process can hold it."""
        if self.is_held:
            with trio.move_on_after(LEAVE_SECONDS) as scope:
                scope.shield = True
                await self._journal.leave_cursor(self._name, self._owner)
