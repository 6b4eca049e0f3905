"""The limiter of model calls: how many may be in flight at once, to one provider and for one run.

Waiting for a free slot is outside a request's time limit: a call that was not sent costs nothing.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import MappingProxyType
from typing import Any, Protocol

import trio


class CallSlot(Protocol):
    """A function that opens a slot of a run."""

    def __call__(self, model: str = "", /) -> AbstractAsyncContextManager[Any]:
        """Open a context that waits for a free slot when it is entered, and frees the slot when it ends.

        `model` is the model of the call, where a step names one; empty for the run's own.
        """
        ...


class CallLimiter:
    """The limits of all runs in this process."""

    def __init__(
        self,
        per_provider: int = 64,
        by_provider: Mapping[str, int] | None = None,
        per_run: int = 16,
    ) -> None:
        """Take the most calls in flight to each provider, to some providers by name, and for one run."""
        own = dict(by_provider or {})
        self._provider: dict[str, trio.CapacityLimiter] = defaultdict(lambda: trio.CapacityLimiter(per_provider))
        self._provider |= {name: trio.CapacityLimiter(most) for name, most in own.items()}
        self._per_run = per_run

    def for_run(self, provider: str, of_models: Mapping[str, str] = MappingProxyType({})) -> CallSlot:
        """Return the slots of one run whose model is at a provider; `of_models` are those of other models, by name."""
        run_limiter = trio.CapacityLimiter(self._per_run)

        @asynccontextmanager
        async def slot(model: str = "", /) -> AsyncIterator[None]:
            asked = of_models.get(model, provider)
            async with run_limiter, self._provider[asked]:
                yield

        return slot
