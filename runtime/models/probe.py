"""Asking a provider, without cost, whether it is up; the runs of a process share the answer.

The question is `GET /models`. Servers that do not have the path answer 404 or 405, and are up.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

import trio

from runtime.core.clock import Clock
from runtime.models.port import Fault, FaultKind

PROBE_SECONDS = 10.0
"""The longest that one question may take."""

Listed = frozenset[str] | Fault
"""The names of the models that a provider lists, which may be none, or why it did not answer."""


@runtime_checkable
class Askable(Protocol):
    """A model whose provider can be asked."""

    @property
    def name(self) -> str:
        """The name that the provider knows it by."""
        ...

    async def listed(self) -> Listed:
        """Ask the provider for its models."""
        ...


class Probes:
    """The latest answer of each provider. Of several runs that ask at once, one does and all take its answer."""

    def __init__(self) -> None:
        self._locks: dict[str, trio.Lock] = {}
        self._answers: dict[str, tuple[float, Listed]] = {}
        self.count = 0
        """How often a provider was asked."""

    async def ask(
        self, provider: str, model: Askable, fault: Fault | None, *, fresh: float, clock: Clock
    ) -> Fault | None:
        """Return None if a provider is up, else why it is not.

        `fault` is why it is waited for: where it lacks a model, it is up once it lists it. A refusal that is not older
        than `fresh` seconds by the clock is taken as the answer.
        """
        return _meaning(await self._ask(provider, model.listed, fresh, clock.now), model.name, fault)

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
