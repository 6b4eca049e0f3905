"""Actors: trio tasks with a bounded, typed mailbox that take an envelope and answer with a message.

An actor holds no state that matters. What it answers goes to the supervisor's inbox; what it raises is a bug. A bug on
repeatable work is tried again a bounded number of times (OTP's restart intensity); on other work, or beyond that, the
supervisor hears `Crashed`, once, and the log has the traceback.
"""

import os
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import trio

from runtime import logs
from runtime.clock import Clock
from runtime.machine import Work
from runtime.messages import Crashed
from runtime.redact import Redactor, secrets_in

M = TypeVar("M")

MAILBOX_MAX = 1024
"""Envelopes that may wait in one mailbox: far above any budget of calls, so that `send_nowait` only fails on a bug."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """One piece of work on its way to an actor.

    `context` is all that the actor may see (`Machine.brief`); `scope` is cancelled when the work is withdrawn; `trace`
    carries the ids that logs and spans are bound to, since channels do not carry context variables.
    """

    work: Work
    context: Any
    scope: trio.CancelScope = field(default_factory=trio.CancelScope, compare=False)
    trace: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delivery(Generic[M]):
    """What an actor hands back: the answer to a request, or None when the work was withdrawn."""

    request_id: str
    message: M | Crashed | None


Handler = Callable[[Envelope], Awaitable[M]]
Deliver = Callable[[Delivery[Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Intensity:
    """How many restarts an actor may have: on one piece of work, and on all within some seconds (OTP's rule)."""

    restarts: int = 3
    seconds: float = 60.0


class Actor(Generic[M]):
    """One actor: an address, a handler, and how many envelopes it works on side by side."""

    def __init__(
        self, address: str, handler: Handler[M], *, concurrency: int = 1, intensity: Intensity | None = None
    ) -> None:
        self.address = address
        self._handler = handler
        self._concurrency = concurrency
        self._intensity = intensity or Intensity()
        self._restarts: deque[float] = deque()

    async def serve(
        self, mailbox: "trio.MemoryReceiveChannel[Envelope]", nursery: trio.Nursery, deliver: Deliver, clock: Clock
    ) -> None:
        """Take envelopes until the mailbox is closed or the task is cancelled; the work on each runs in `nursery`.

        `deliver` gets every answer, also while the nursery is being cancelled: it shields itself where it waits.
        """
        places = trio.Semaphore(self._concurrency)
        with mailbox:
            async for envelope in mailbox:
                try:
                    places.acquire_nowait()
                except trio.WouldBlock:
                    await places.acquire()
                nursery.start_soon(self._work, envelope, deliver, clock, places)

    async def _work(self, envelope: Envelope, deliver: Deliver, clock: Clock, places: trio.Semaphore) -> None:
        message: M | Crashed | None = None
        try:
            with envelope.scope, logs.bound(**envelope.trace):
                message = await self._answer(envelope, clock)
        finally:
            places.release()
            await deliver(Delivery(envelope.work.request_id, message))

    async def _answer(self, envelope: Envelope, clock: Clock) -> M | Crashed:
        restarts = 0
        while True:
            try:
                return await self._handler(envelope)
            except Exception as error:  # noqa: BLE001 - the one place where an actor's bug becomes a message
                logs.get_logger("actor").exception(
                    "actor.crashed", actor=self.address, request=envelope.work.request_id
                )
                restarts += 1
                allowed = envelope.work.repeatable and restarts <= self._intensity.restarts
                if not (allowed and self._may_restart(clock.now())):
                    line = f"{self.address}: {type(error).__name__}: {error}".splitlines()[0]
                    # It is written down and shown, so it passes the same redactor as the logs.
                    return Crashed(envelope.work.request_id, clock.now(), Redactor(secrets_in(os.environ)).text(line))

    def _may_restart(self, now: float) -> bool:
        while self._restarts and self._restarts[0] < now - self._intensity.seconds:
            self._restarts.popleft()
        self._restarts.append(now)
        return len(self._restarts) <= self._intensity.restarts
