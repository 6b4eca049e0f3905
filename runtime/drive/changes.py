"""How a driver hears that its run's inbox may hold something new: it looks by itself, or its host rings a bell."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from runtime.journal.port import Journal

News = Callable[[], Awaitable[None]]
"""Returns when it is worth reading the inbox; what comes while nobody waits is told at the next call."""


class Polling:
    """Looks every so many seconds whether anything was committed. For a driver that is alone in its process."""

    def __init__(self, journal: Journal[Any], seconds: float) -> None:
        self._journal, self._seconds, self._version = journal, seconds, -1

    async def __call__(self) -> None:
        """Return once the journal has changed since the last call."""
        while True:
            await trio.sleep(self._seconds)
            version = await self._journal.version()
            if version != self._version:
                self._version = version
                return


class Bell:
    """Rung by whoever looks after many runs, so that a thousand of them need not look for themselves."""

    def __init__(self) -> None:
        self._rung = trio.Event()

    def ring(self) -> None:
        """Say that there may be something new."""
        self._rung.set()

    async def __call__(self) -> None:
        """Return once the bell was rung since the last call."""
        await self._rung.wait()
        self._rung = trio.Event()
