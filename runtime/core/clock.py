"""The clock port. All time enters the program here. Machines see time only in messages."""

import time
from typing import Protocol

import trio


class Clock(Protocol):
    """A clock: it returns the wall-clock time (UTC seconds since 1970), and waits until a time."""

    def now(self) -> float:
        """Return the time."""

    async def sleep_until(self, when: float) -> None:
        """Wait until `now()` reaches `when`. The longest wait is `when - now()` at the time of the call."""


class SystemClock:
    """The system's clock. If somebody sets the wall clock, a waiting program notices it within `STEP` seconds."""

    STEP = 30.0

    def now(self) -> float:
        """Return the system's UTC time."""
        return time.time()

    async def sleep_until(self, when: float) -> None:
        """Sleep in short steps, so that a suspended computer or a changed clock causes only a short delay.

        If the computer was suspended or the clock was set forward, the wait ends earlier by trio's clock. If the clock
        was set back, the wait still ends after its original duration.
        """
        last = trio.current_time() + when - self.now()
        while (remaining := min(when - self.now(), last - trio.current_time())) > 0:  # noqa: ASYNC110 - no event tells of a set clock
            await trio.sleep(min(remaining, self.STEP))


class TrioClock:
    """A clock that shows `start` plus trio's time. Tests and simulations use it with trio's mock clock."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._start = start

    def now(self) -> float:
        """Return the start plus trio's time."""
        return self._start + trio.current_time()

    async def sleep_until(self, when: float) -> None:
        """Sleep on trio's clock."""
        await trio.sleep(max(0.0, when - self.now()))
