"""State about each provider that all runs of a process share: the free slots for calls, and its latest answer."""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import trio

from runtime.core.clock import Clock
from runtime.models.port import Fault, FaultKind


class CallSlot(Protocol):
    """A function that opens a slot of a run."""

    def __call__(self, model: str = "", /) -> AbstractAsyncContextManager[Any]:
        """Open a context that waits for a free slot when it is entered, and frees the slot when it ends.

        `model` is the model of the call, where a step names one; empty for the run's own.
        """


class CallLimiter:
    """Limits the calls in flight of all runs in this process."""

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

    def for_run(
        self,
        provider: str,
        of_models: Mapping[str, str] = MappingProxyType({}),
        turn: CallSlot = lambda _model="": nullcontext(),
    ) -> CallSlot:
        """Return the slots of one run whose model is at a provider; `of_models` are those of other models, by name.

        `turn` opens the context in which a call may be sent by the limits of its server.
        """
        run_limiter = trio.CapacityLimiter(self._per_run)

        @asynccontextmanager
        async def slot(model: str = "", /) -> AsyncIterator[None]:
            asked = of_models.get(model, provider)
            async with run_limiter, self._provider[asked], turn(model):
                yield

        return slot


PROBE_SECONDS = 10.0
"""The time limit of one question, in seconds."""

Listed = frozenset[str] | Fault
"""The names of a provider's models, perhaps none, or the fault of the request for them."""


@runtime_checkable
class Askable(Protocol):
    """A model whose provider can be asked."""

    @property
    def name(self) -> str:
        """The name that the provider knows it by."""

    async def ask_models(self) -> Listed:
        """Ask the provider for its models."""


class Probes:
    """The latest answer of each provider. Runs that ask at the same time share one request."""

    def __init__(self) -> None:
        self._locks: dict[str, trio.Lock] = {}
        self._answers: dict[str, tuple[float, Listed]] = {}
        self.count = 0
        """How often a provider was asked."""

    async def ask(
        self, provider: str, model: Askable, fault: Fault | None, *, fresh: float, clock: Clock
    ) -> Fault | None:
        """Return None if a provider is up, else its fault.

        `fault` is why it is waited for: where it lacks a model, it is up once it lists it. A refusal that is not older
        than `fresh` seconds by the clock is taken as the answer.
        """
        return _meaning(await self._ask(provider, model.ask_models, fresh, clock.now), model.name, fault)

    async def _ask(
        self, provider: str, listed: Callable[[], Awaitable[Listed]], fresh: float, now: Callable[[], float]
    ) -> Listed:
        asked = now()
        async with self._locks.setdefault(provider, trio.Lock()):
            known = self._answers.get(provider)
            if known is not None:
                at, answer = known
                if at >= asked or (isinstance(answer, Fault) and 0.0 <= asked - at <= fresh):
                    return answer
            self.count += 1
            answer = await listed()
            self._answers[provider] = now(), answer
            return answer


def _meaning(answer: Listed, model: str, waited_for: Fault | None) -> Fault | None:
    if isinstance(answer, Fault):
        return answer
    lacking = waited_for is not None and waited_for.kind is FaultKind.NOT_FOUND
    if lacking and answer and model not in answer:
        return Fault(kind=FaultKind.NOT_FOUND, message=f"the server does not list the model {model!r}")
    return None
