"""Tells open streams that runs have changed. One task checks the journal for all streams."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import trio

from runtime.core.errors import JournalError
from runtime.journal.port import Journal

LOOK_SECONDS = 0.05
"""How many seconds pass between two checks whether the journal has new commits. A check takes microseconds."""
PING_SECONDS = 15.0
"""After how many seconds without an event a stream gets a comment. A failure to send the comment shows that the
connection is broken."""
SHARED_MAX = 64
"""The largest number of values that are kept for several streams. The least recently used value is dropped first."""

T = TypeVar("T")


@dataclass(slots=True)
class _Shared:
    """A value that is computed once for several streams."""

    lock: trio.Lock = field(default_factory=trio.Lock)
    version: int | None = None
    answer: Any = None


class Hub:
    """Wakes all open streams after a commit to the journal."""

    def __init__(self, journal: Journal[Any]) -> None:
        self._journal, self._version, self._listeners = journal, -1, 0
        self._changed = trio.Event()
        self._shared: OrderedDict[Hashable, _Shared] = OrderedDict()

    async def watch(self) -> None:
        """Check the journal for commits until cancelled. Nothing is checked while no stream is open."""
        while True:
            await trio.sleep(LOOK_SECONDS)
            if self._listeners:
                await self._look()

    async def _look(self) -> None:
        version = self._version
        with suppress(JournalError):  # The journal may be busy, or its disk full. The next look tells.
            version = await self._journal.version()
        if version != self._version:
            self._version = version
            self._changed.set()
            self._changed = trio.Event()

    async def ask_once(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `ask()`.

        After each commit, only the first stream with a key calls `ask`; the others get the same result. Only streams
        may call this method, because the journal is watched only while streams are open. Errors of `ask` are raised.
        """
        shared = self._shared.setdefault(key, _Shared())
        self._shared.move_to_end(key)
        while len(self._shared) > SHARED_MAX:
            self._shared.popitem(last=False)
        async with shared.lock:
            version = self._version
            if shared.version != version:
                shared.answer, shared.version = await ask(), version
            answer: T = shared.answer
            return answer

    async def changes(self, stop: trio.Event) -> AsyncGenerator[bool, None]:
        """Yield True at once and after each commit. Yield False if nothing was committed for `PING_SECONDS`.

        Ends when `stop` is set.
        """
        self._listeners += 1
        try:
            await self._look()
            seen = self._version
            yield True
            while not stop.is_set():
                if self._version == seen:  # Else something was committed while the last change was told.
                    with trio.move_on_after(PING_SECONDS):
                        await _either(self._changed, stop)
                changed, seen = self._version != seen, self._version
                if not stop.is_set():
                    yield changed
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._shared.clear()


async def _either(one: trio.Event, other: trio.Event) -> None:
    async with trio.open_nursery() as nursery:

        async def wait(event: trio.Event) -> None:
            await event.wait()
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait, one)
        nursery.start_soon(wait, other)
