"""Turns: how many model calls may be in flight at once, to one provider and for one run.

Waiting for a turn is outside a request's time limit: a call that was not sent costs nothing. When the process is asked
to stop, what still waits is told so at once (`NoTurn`), and its reservation is given back.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import trio

Turn = Callable[[], AbstractAsyncContextManager[None]]
"""Opens a context that begins when the turn has come. Raises `NoTurn` if it will not come."""


class NoTurn(Exception):
    """No call is sent any more: the process is about to stop."""


class Turns:
    """The turns of all runs in this process.

    `each` is the most calls in flight to one provider, `by_provider` has other numbers for some, and `per_run` is the
    most for one run.
    """

    def __init__(self, each: int = 64, by_provider: Mapping[str, int] | None = None, per_run: int = 16) -> None:
        own = dict(by_provider or {})
        self._provider: dict[str, trio.CapacityLimiter] = defaultdict(lambda: trio.CapacityLimiter(each))
        self._provider |= {name: trio.CapacityLimiter(most) for name, most in own.items()}
        self._per_run = per_run
        self._waiting: set[trio.CancelScope] = set()
        self._closed = False

    def of_run(self, provider: str) -> Turn:
        """Return the turns of one run whose model is asked at a provider."""
        limits = (trio.CapacityLimiter(self._per_run), self._provider[provider])

        @asynccontextmanager
        async def turn() -> AsyncIterator[None]:
            taken: list[trio.CapacityLimiter] = []
            try:
                for limit in limits:
                    await self._take(limit)
                    taken.append(limit)
                yield
            finally:
                for limit in taken:
                    limit.release()

        return turn

    def close(self) -> None:
        """Give nobody a turn any more. Calls in flight are left alone."""
        self._closed = True
        for scope in self._waiting:
            scope.cancel()

    async def _take(self, limit: trio.CapacityLimiter) -> None:
        if self._closed:
            raise NoTurn
        with trio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                await limit.acquire()
            finally:
                self._waiting.discard(scope)
        if scope.cancelled_caught:
            raise NoTurn
