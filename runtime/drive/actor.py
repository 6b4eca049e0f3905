"""Actors: trio tasks with a bounded, typed mailbox that take an envelope and answer with a message.

An actor holds no state that matters. What it answers goes to the supervisor's inbox; what it raises is a bug. A bug on
repeatable work is tried again a bounded number of times (OTP's restart intensity); on other work, or beyond that, the
supervisor hears `Crashed`, once, and the log has the traceback.
"""

import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar, cast

import trio
from trio.lowlevel import checkpoint_if_cancelled

from runtime.core.clock import Clock
from runtime.core.errors import JournalError
from runtime.core.machine import Work
from runtime.core.messages import Crashed
from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in

M = TypeVar("M")

MAILBOX_MAX = 1024
"""Envelopes that may wait in one mailbox: far above any budget of calls, so that `put` only fails on a bug."""


@dataclass(slots=True, eq=False)
class Envelope:
    """One piece of work on its way to an actor.

    `context` is all that the actor may see (`Machine.brief`); `trace` carries the ids that logs and spans are bound to,
    since channels do not carry context variables.
    """

    work: Work
    context: Any
    trace: Mapping[str, str | int] = field(default_factory=dict)
    ensure_held: Callable[[], Awaitable[None]] = checkpoint_if_cancelled
    """To be awaited before something is paid for: raises where the run is another driver's by now."""
    withdrawn: bool = False
    parked: bool = False
    """Whether the run is being parked: work that costs something, and has not begun, should not begin any more."""
    scope: trio.CancelScope | None = None
    """What the work waits in, while it does."""
    unsent: trio.CancelScope | None = None
    """What a call waits in until it is sent: for its turn, or for the journal."""

    def withdraw(self) -> None:
        """Cancel the work: what waits is interrupted, what has not begun never begins; an unsent call answers so."""
        self.withdrawn = True
        if self.unsent is not None:
            self.unsent.cancel()
        elif self.scope is not None:
            self.scope.cancel()

    def park(self) -> None:
        """Withdraw what can be done again for nothing, and end a call's wait to be sent; what was sent goes on."""
        self.parked = True
        if self.work.repeatable:
            self.withdraw()
        elif self.unsent is not None:
            self.unsent.cancel()

    def may_send(self) -> bool:
        """Tell whether a call that has waited may be sent; if so, it is in flight from now on."""
        self.unsent = None
        return not (self.parked or self.withdrawn)


class Delivery(NamedTuple, Generic[M]):
    """What an actor hands back: the answer to a request, or None when the work was withdrawn."""

    request_id: str
    message: M | Crashed | None


Handler = Callable[[Envelope], Awaitable[M] | M]
"""Does the work. One that waits for nothing is a plain function: it needs no scope, as nothing could interrupt it."""
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
        self.concurrency = concurrency
        self._handler = handler
        self._intensity = intensity or Intensity()
        self._restarts: deque[float] = deque()

    async def answer(self, envelope: Envelope, clock: Clock) -> M | Crashed | None:
        """Return the answer to an envelope, or None when it was withdrawn.

        A call that was withdrawn before it began gets to its handler all the same, which says that it was not sent.
        """
        log.bind(**envelope.trace)
        goes_on, restarts = not (envelope.withdrawn and envelope.work.repeatable), 0
        while goes_on:
            try:
                answer = self._handler(envelope)
                if not isinstance(answer, Awaitable):
                    return answer
                with trio.CancelScope() as envelope.scope:
                    return cast("M", await answer)
            except JournalError:
                raise  # The journal of a run below failed, as the run's own might: whoever drives next goes on.
            except Exception as error:  # noqa: BLE001 - the one place where an actor's bug becomes a message
                log.get_logger("actor").exception("actor.crashed", actor=self.address, request=envelope.work.request_id)
                restarts += 1
                allowed = envelope.work.repeatable and restarts <= self._intensity.restarts
                if not (allowed and self._may_restart(clock.now())):
                    line = f"{self.address}: {type(error).__name__}: {error}".splitlines()[0]
                    # It is written down and shown, so it passes the same redactor as the logs.
                    return Crashed(envelope.work.request_id, clock.now(), Redactor(secrets_in(os.environ)).text(line))
            goes_on = not envelope.withdrawn
        return None

    def _may_restart(self, now: float) -> bool:
        while self._restarts and self._restarts[0] < now - self._intensity.seconds:
            self._restarts.popleft()
        self._restarts.append(now)
        return len(self._restarts) <= self._intensity.restarts


class Mailbox(Generic[M]):
    """An actor at work in one run: what it has been sent, and the tasks that do it.

    A task is started, in `nursery`, with the envelope that finds fewer of them than the actor's concurrency allows, and
    ends when nothing waits any more: an actor without work costs nothing. `deliver` gets every answer, also while the
    nursery is being cancelled: it shields itself where it waits.
    """

    def __init__(self, actor: Actor[M], nursery: trio.Nursery, deliver: Deliver, clock: Clock) -> None:
        self._actor, self._nursery, self._deliver, self._clock = actor, nursery, deliver, clock
        self._waiting: deque[Envelope] = deque()
        self._tasks = 0

    def put(self, envelope: Envelope) -> None:
        """Take an envelope; never blocks. Raises `trio.WouldBlock` beyond `MAILBOX_MAX`, which is a bug."""
        if self._tasks < self._actor.concurrency:
            self._tasks += 1
            self._nursery.start_soon(self._serve, envelope)
        elif len(self._waiting) < MAILBOX_MAX:
            self._waiting.append(envelope)
        else:
            raise trio.WouldBlock

    def flush(self) -> None:
        """Serve all that waits, at any concurrency: its run is being parked, so that none of it takes long."""
        while self._waiting:
            self._tasks += 1
            self._nursery.start_soon(self._serve, self._waiting.popleft())

    async def _serve(self, envelope: Envelope) -> None:
        try:
            await self._work(envelope)
            while self._waiting:
                await self._work(self._waiting.popleft())
        finally:
            self._tasks -= 1

    async def _work(self, envelope: Envelope) -> None:
        message: M | Crashed | None = None
        try:
            message = await self._actor.answer(envelope, self._clock)
        finally:
            await self._deliver(Delivery(envelope.work.request_id, message))
