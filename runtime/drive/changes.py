"""How a driver learns that its run's inbox may have changed: it polls the journal, or its host wakes it."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from runtime.journal.port import Journal

ChangeSignal = Callable[[], Awaitable[None]]
"""Returns when the inbox may have changed since the last call."""


class Polling:
    """Asks the journal at an interval whether anything was committed. For a driver that is alone in its process."""

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


class WakeSignal:
    """Set by a host for one of its runs, so that a thousand runs need not poll."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def wake(self) -> None:
        """End the current wait, or the next one."""
        self._event.set()

    async def __call__(self) -> None:
        """Return once `wake` was called since the last return."""
        await self._event.wait()
        self._event = trio.Event()
