"""The limiter of model calls: how many may be in flight at once, to one provider and for one run.

Waiting for a free slot is outside a request's time limit: a call that was not sent costs nothing.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
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


ProviderSlot = Callable[[str], AbstractAsyncContextManager[None]]
"""Opens a context that waits for a free slot to a provider when it is entered, and frees the slot when it ends."""


class CallLimiter:
    """The limits of all runs in this process."""

    def __init__(
        self,
        each: int = 64,
        by_provider: Mapping[str, int] | None = None,
        per_run: int = 16,
        shared: ProviderSlot = lambda _: nullcontext(),
    ) -> None:
        """Take the most calls in flight to each provider, to some providers by name, and for one run.

        `shared` opens a slot to a provider that other processes share.
        """
        self._shared = shared
        self._limits = each, by_provider, per_run
        own = dict(by_provider or {})
        self._provider: dict[str, trio.CapacityLimiter] = defaultdict(lambda: trio.CapacityLimiter(each))
        self._provider |= {name: trio.CapacityLimiter(most) for name, most in own.items()}
        self._per_run = per_run

    def for_run(self, provider: str, of_models: Mapping[str, str] = MappingProxyType({})) -> CallSlot:
        """Return the slots of one run whose model is at a provider; `of_models` are those of other models, by name."""
        run_limiter = trio.CapacityLimiter(self._per_run)

        @asynccontextmanager
        async def slot(model: str = "", /) -> AsyncIterator[None]:
            asked = of_models.get(model, provider)
            async with run_limiter, self._provider[asked], self._shared(asked):
                yield

        return slot

    def sharing(self, shared: ProviderSlot) -> "CallLimiter":
        """Return a limiter with the same limits, whose slots are also shared with other processes."""
        return CallLimiter(*self._limits, shared=shared)
