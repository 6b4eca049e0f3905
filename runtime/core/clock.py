"""The clock port. Time enters the program here and nowhere else; machines only ever see it in a message."""

import time
from typing import Protocol

import trio


class Clock(Protocol):
    """Wall-clock time in UTC seconds since 1970, and a way to wait for it."""

    def now(self) -> float:
        """Return the time."""
        ...

    async def sleep_until(self, when: float) -> None:
        """Return once `now()` has reached `when`, or the seconds have passed that were left to it at first."""
        ...


class SystemClock:
    """The machine's own clock. A jump of the wall clock is noticed within `STEP` seconds."""

    STEP = 30.0

    def now(self) -> float:
        """Return the system's UTC time."""
        return time.time()

    async def sleep_until(self, when: float) -> None:
        """Sleep in bounded steps, so that neither a suspended machine nor a clock that is set delays anybody for long.

        Suspended or set forward, the clock has come to `when`; set back, the seconds that were left pass all the same.
        """
        last = trio.current_time() + when - self.now()
        while (left := min(when - self.now(), last - trio.current_time())) > 0:  # noqa: ASYNC110 - nobody tells
            await trio.sleep(min(left, self.STEP))


class TrioClock:
    """Time as trio tells it, from `start`: virtual under a mock clock, for tests and simulation."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._start = start

    def now(self) -> float:
        """Return the start plus trio's time."""
        return self._start + trio.current_time()

    async def sleep_until(self, when: float) -> None:
        """Sleep on trio's clock."""
        await trio.sleep(max(0.0, when - self.now()))
