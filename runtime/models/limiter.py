"""Turns: how many model calls may be in flight at once, to one provider and for one run.

Waiting for a turn is outside a request's time limit: a call that was not sent costs nothing.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import trio

CallSlot = Callable[[], AbstractAsyncContextManager[None]]
"""Opens a context that begins when the turn has come."""


class CallLimiter:
    """The turns of all runs in this process.

    `each` is the most calls in flight to one provider, `by_provider` has other numbers for some, and `per_run` is the
    most for one run.
    """

    def __init__(self, each: int = 64, by_provider: Mapping[str, int] | None = None, per_run: int = 16) -> None:
        own = dict(by_provider or {})
        self._provider: dict[str, trio.CapacityLimiter] = defaultdict(lambda: trio.CapacityLimiter(each))
        self._provider |= {name: trio.CapacityLimiter(most) for name, most in own.items()}
        self._per_run = per_run

    def of_run(self, provider: str) -> CallSlot:
        """Return the turns of one run whose model is asked at a provider."""
        of_run, of_all = trio.CapacityLimiter(self._per_run), self._provider[provider]

        @asynccontextmanager
        async def turn() -> AsyncIterator[None]:
            async with of_run, of_all:
                yield

        return turn
