"""The clock port. All time enters the program here. Machines see time only in messages."""

import time
from typing import Protocol

import trio


class Clock(Protocol):
    """Wall-clock time in UTC seconds since 1970, and a way to wait for it."""

    def now(self) -> float:
        """Return the time."""

    async def sleep_until(self, when: float) -> None:
        """Wait until `now()` reaches `when`. The longest wait is `when - now()` at the time of the call."""


class SystemClock:
    """The system's clock. A jump of the wall clock is noticed within `STEP` seconds."""

    STEP = 30.0

    def now(self) -> float:
        """Return the system's UTC time."""
        return time.time()

    async def sleep_until(self, when: float) -> None:
        """Sleep in short steps, so that a suspended machine or a changed clock causes only a short delay.

        If the machine was suspended or the clock set forward, the wait ends earlier by trio's clock. If the clock was
        set back, the wait ends after its original duration.
        """
        last = trio.current_time() + when - self.now()
        while (remaining := min(when - self.now(), last - trio.current_time())) > 0:  # noqa: ASYNC110 - no event tells of a set clock
            await trio.sleep(min(remaining, self.STEP))


class TrioClock:
    """Adds trio's time to `start`. Under trio's mock clock, the time is virtual, for tests and simulation."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._start = start

    def now(self) -> float:
        """Return the start plus trio's time."""
        return self._start + trio.current_time()

    async def sleep_until(self, when: float) -> None:
        """Sleep on trio's clock."""
        await trio.sleep(max(0.0, when - self.now()))
