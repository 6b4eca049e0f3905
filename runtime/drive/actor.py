"""Actors: an address, a handler, and what follows from a handler's exceptions.

An actor holds no state that matters. An exception in a handler is a bug. Repeatable work is tried again a bounded
number of times (OTP's restart intensity); other work, and work that keeps failing, is answered with `Crashed`, and the
log has the traceback. An error whose attribute `halt` is set (`runtime.core.messages`) says that the run is to be
parked.

An actor of a run has a mailbox: the envelopes that wait for it, and the tasks that work on them.
"""

import os
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import trio

from runtime.core.errors import Halted, JournalError
from runtime.core.messages import Crashed, Halt
from runtime.drive.envelope import Deliver, Delivery, Envelope, Handler
from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in

B = TypeVar("B")
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Intensity:
    """How many restarts an actor may have (OTP's rule)."""

    restarts: int = 3
    """Restarts on one piece of work, and on all work within `seconds`."""
    seconds: float = 60.0
    """The window in which all restarts are counted."""


class Actor(Generic[B, M]):
    """One actor; `concurrency` is how many envelopes it works on side by side."""

    def __init__(
        self, address: str, handler: Handler[B, M], *, concurrency: int = 1, intensity: Intensity | None = None
    ) -> None:
        self.address = address
        self.concurrency = concurrency
        self._handler = handler
        self._intensity = intensity or Intensity()
        self._restarts: deque[float] = deque()

    async def answer(self, envelope: Envelope[B], now: Callable[[], float]) -> M | Crashed | None:
        """Return the answer to an envelope, or None when it was withdrawn; `now` gives the time of a crash.

        A call that was withdrawn before it began is given to its handler all the same, which answers that it was not
        sent.
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
                raise  # The journal of a child run failed, as this run's may: the next driver goes on.
            except Exception as error:  # noqa: BLE001 - the one place where an actor's bug becomes a message
                if isinstance(error, Halted):
                    return Crashed(envelope.work.request_id, now(), str(error).splitlines()[0], error.halt)
                log.get_logger("actor").exception("actor.crashed", actor=self.address, request=envelope.work.request_id)
                restarts += 1
                may_repeat = envelope.work.repeatable and restarts <= self._intensity.restarts
                if not (may_repeat and self._may_restart()):
                    line = f"{self.address}: {type(error).__name__}: {error}".splitlines()[0]
                    # It is journaled and shown, so it passes the same redactor as the logs.
                    text = Redactor(secrets_in(os.environ)).text(line)
                    halt: Halt = getattr(error, "halt", "")
                    return Crashed(envelope.work.request_id, now(), text, halt)
            goes_on = not envelope.withdrawn
        return None

    def _may_restart(self) -> bool:
        now = trio.current_time()
        while self._restarts and self._restarts[0] < now - self._intensity.seconds:
            self._restarts.popleft()
        self._restarts.append(now)
        return len(self._restarts) <= self._intensity.restarts


MAILBOX_MAX = 1024
"""Envelopes that may wait in one mailbox: far above any budget of calls, so that `put` only fails on a bug."""


class Mailbox(Generic[B, M]):
    """A bounded channel of envelopes, and up to `Actor.concurrency` tasks that receive from it.

    A task is started, in `nursery`, only when there is work for it, and ends when the channel is empty: an idle actor
    costs nothing. `deliver` is called with every answer, also while the nursery is being cancelled: it shields itself
    where it waits. `now` gives the time of a crash.
    """

    def __init__(
        self, actor: Actor[B, M], nursery: trio.Nursery, deliver: Deliver[M], now: Callable[[], float]
    ) -> None:
        self._actor, self._nursery, self._deliver, self._now = actor, nursery, deliver, now
        self._send, self._receive = trio.open_memory_channel[Envelope[B]](MAILBOX_MAX)
        self._tasks = 0

    def put(self, envelope: Envelope[B]) -> None:
        """Take an envelope; never blocks. Raises `trio.WouldBlock` beyond `MAILBOX_MAX`, which is a bug."""
        self._send.send_nowait(envelope)
        if self._tasks < self._actor.concurrency:
            self._start()

    def flush(self) -> None:
        """Start a task for each envelope that waits, at any concurrency: in a run that parks none of them is slow."""
        for _ in range(self._receive.statistics().current_buffer_used):
            self._start()

    def _start(self) -> None:
        self._tasks += 1
        self._nursery.start_soon(self._serve)

    async def _serve(self) -> None:
        try:
            while True:
                try:
                    envelope = self._receive.receive_nowait()
                except trio.WouldBlock:
                    return
                await self._work(envelope)
        finally:
            self._tasks -= 1

    async def _work(self, envelope: Envelope[B]) -> None:
        message: M | Crashed | None = None
        try:
            message = await self._actor.answer(envelope, self._now)
        finally:
            await self._deliver(Delivery(envelope.work.request_id, message))
