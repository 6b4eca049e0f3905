"""The state of each provider, which all runs of a process share: its free slots for calls and its list of models."""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import trio

from runtime.core.clock import Clock
from runtime.models.port import Fault, FaultKind


class CallSlot(Protocol):
    """A function that a run calls to get a slot for a call to a model."""

    def __call__(self, model: str = "", /) -> AbstractAsyncContextManager[Any]:
        """Return a context manager that waits for a free slot when it is entered, and frees the slot at its end.

        `model` is the model that the step names; empty for the run's own model.
        """


class CallLimiter:
    """Limits the number of calls that the runs of this process make at the same time."""

    def __init__(
        self,
        per_provider: int = 64,
        by_provider: Mapping[str, int] | None = None,
        per_run: int = 16,
    ) -> None:
        """Store the largest numbers of simultaneous calls to a provider (by default, and by name), and by a run."""
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
        """Return the function with which one run gets slots.

        `provider` is the provider of the run's model, and `of_models` maps the names of other models to their
        providers. `turn` returns a context manager that waits until the server's rate limits allow the call.
        """
        run_limiter = trio.CapacityLimiter(self._per_run)

        @asynccontextmanager
        async def slot(model: str = "", /) -> AsyncIterator[None]:
            called = of_models.get(model, provider)
            async with run_limiter, self._provider[called], turn(model):
                yield

        return slot


PROBE_SECONDS = 10.0
"""The time limit, in seconds, of one request that asks a provider for the list of its models."""

Listed = frozenset[str] | Fault
"""The set of names of a provider's models, which may be empty; or the fault if the request for these names failed."""


@runtime_checkable
class Askable(Protocol):
    """A model whose provider can be asked for its models."""

    @property
    def name(self) -> str:
        """The name of the model at the provider."""

    async def ask_models(self) -> Listed:
        """Ask the provider for its models."""


class Probes:
    """The latest list of models, or fault, of each provider. Runs that ask at the same time share one request."""

    def __init__(self) -> None:
        self._locks: dict[str, trio.Lock] = {}
        self._answers: dict[str, tuple[float, Listed]] = {}
        self.count = 0

    async def ask(
        self, provider: str, model: Askable, fault: Fault | None, *, fresh: float, clock: Clock
    ) -> Fault | None:
        """Return None if a provider is available, otherwise its fault.

        `fault` is the reason why the caller waits. If the reason is a missing model, the provider is available when it
        lists the model. A fault that is at most `fresh` seconds old is returned again, without a request.
        """
        return _meaning(await self._ask(provider, model.ask_models, fresh, clock.now), model.name, fault)

    async def _ask(
        self, provider: str, listed: Callable[[], Awaitable[Listed]], fresh: float, now: Callable[[], float]
    ) -> Listed:
        asked_at = now()
        async with self._locks.setdefault(provider, trio.Lock()):
            known = self._answers.get(provider)
            if known is not None:
                at, answer = known
                if at >= asked_at or (isinstance(answer, Fault) and 0.0 <= asked_at - at <= fresh):
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
