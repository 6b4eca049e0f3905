"""Tells open streams that runs have changed: one task asks the journal, however many streams there are."""

from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import trio

from runtime.core.errors import JournalError
from runtime.journal.port import Journal

LOOK_SECONDS = 0.05
"""How often the journal is asked whether anything was committed; asking costs microseconds."""
PING_SECONDS = 15.0
"""How often an idle stream is sent a comment, so that a broken connection is noticed."""


class Hub:
    """Wakes the streams when something was committed to the journal."""

    def __init__(self, journal: Journal[Any]) -> None:
        self._journal, self._version, self._listeners = journal, -1, 0
        self._changed = trio.Event()

    async def watch(self) -> None:
        """Ask the journal, while anybody listens, until this is cancelled."""
        while True:
            await trio.sleep(LOOK_SECONDS)
            if not self._listeners:
                continue
            version = self._version
            with suppress(JournalError):  # It may be busy, or its disk full; the next look tells.
                version = await self._journal.version()
            if version != self._version:
                self._version = version
                self._changed.set()
                self._changed = trio.Event()

    async def changes(self, stop: trio.Event) -> AsyncGenerator[bool, None]:
        """Yield True at once and whenever something was committed, and False after `PING_SECONDS` without.

        Ends when `stop` is set.
        """
        self._listeners += 1
        try:
            yield True
            while not stop.is_set():
                changed = self._changed
                with trio.move_on_after(PING_SECONDS) as waiting:
                    await _either(changed, stop)
                if not stop.is_set():
                    yield not waiting.cancelled_caught
        finally:
            self._listeners -= 1


async def _either(one: trio.Event, other: trio.Event) -> None:
    """Return once one of two events is set."""
    async with trio.open_nursery() as nursery:

        async def wait(event: trio.Event) -> None:
            await event.wait()
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait, one)
        nursery.start_soon(wait, other)
