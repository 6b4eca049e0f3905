"""Actors. An actor has an address, a handler and a mailbox.

An actor keeps no state between pieces of work. An exception in a handler is a bug. Repeatable work is then tried again,
a limited number of times (the restart intensity of OTP). If other work fails, or repeatable work keeps failing, the
answer is `Crashed`, and the log has the traceback. An error whose attribute `halt` is set (`runtime.core.messages`)
parks the run.

The mailbox of an actor contains the waiting envelopes. The tasks of the mailbox process the envelopes.
"""

import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar, cast

import trio
from trio.lowlevel import checkpoint_if_cancelled

from runtime.core.errors import Halted, JournalError
from runtime.core.machine import Work
from runtime.core.messages import Crashed, Halt, Message
from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in

B = TypeVar("B")
M = TypeVar("M")


async def _report_recorded(_: object) -> bool:
    """Return True.

    This function is the default of `Envelope.record`, for handlers without a supervisor, such as in tests.
    """
    await trio.lowlevel.checkpoint()
    return True


@dataclass(slots=True, eq=False)
class Envelope(Generic[B]):
    """One piece of work for an actor.

    The supervisor changes the envelope while the actor works, to withdraw or park the work.
    """

    work: Work
    brief: B
    """Everything that the actor may see of the run (`Machine.brief`)."""
    trace: Mapping[str, str | int] = field(default_factory=dict)
    """The ids that the actor's log lines contain. They are stored here because context variables do not pass through
    channels.
    """
    ensure_held: Callable[[], Awaitable[None]] = checkpoint_if_cancelled
    """A function that must be awaited before each paid call. It raises `Fenced` if another driver has claimed the run.
    """
    record: Callable[[Message], Awaitable[bool]] = _report_recorded
    """A function that records a message before the work ends. It returns whether anything was appended to the journal.
    """
    withdrawn: bool = False
    parked: bool = False
    """Whether the run is being parked. If so, the actor should not begin paid work."""
    scope: trio.CancelScope | None = None
    """The cancel scope of the handler while the handler runs; otherwise None."""
    unsent: trio.CancelScope | None = None
    """The cancel scope in which a call waits to be sent; None after the call was sent."""

    def withdraw(self) -> None:
        """Cancel the work.

        If the work has not begun, it never begins. If its call was not sent yet, the answer says so.
        """
        self.withdrawn = True
        if self.unsent is not None:
            self.unsent.cancel()
        elif self.scope is not None:
            self.scope.cancel()

    def park(self) -> None:
        """If the work is repeatable, withdraw it.

        Otherwise, cancel its call if the call waits to be sent; a sent call continues.
        """
        self.parked = True
        if self.work.repeatable:
            self.withdraw()
        elif self.unsent is not None:
            self.unsent.cancel()

    def may_send(self) -> bool:
        """Mark the call as no longer waiting to be sent, and return whether it may be sent."""
        self.unsent = None
        return not (self.parked or self.withdrawn)


class Delivery(NamedTuple, Generic[M]):
    """The result of a piece of work, which is sent to the supervisor."""

    request_id: str
    message: M | Crashed | None
    """The answer: `Crashed` if the handler raised too often, None if the work was withdrawn."""


@dataclass(slots=True, eq=False)
class Report(Generic[M]):
    """A message that an actor sends before its work ends.

    The actor waits until the supervisor has processed the message.
    """

    message: M
    taken: trio.Event = field(default_factory=trio.Event)
    """An event that is set when the supervisor has appended the resulting events."""
    appended: bool = False


Handler = Callable[[Envelope[B]], Awaitable[M] | M]
"""The function of an actor that does the work of a request. A handler that never waits is a plain function and cannot
be cancelled."""

Deliver = Callable[[Delivery[M]], Awaitable[None]]
"""A function that passes an actor's answer to the supervisor, and waits until the supervisor has taken the answer."""


@dataclass(frozen=True, slots=True)
class Intensity:
    """The limit of an actor's restarts (the restart intensity of OTP)."""

    restarts: int = 3
    """The largest number of restarts for one piece of work, and also for all work of the actor within `seconds`."""
    seconds: float = 60.0
    """The length of the time in which all restarts of the actor are counted, in seconds."""


class Actor(Generic[B, M]):
    """One actor. It processes at most `concurrency` envelopes at the same time."""

    def __init__(
        self, address: str, handler: Handler[B, M], *, concurrency: int = 1, intensity: Intensity | None = None
    ) -> None:
        self.address = address
        self.concurrency = concurrency
        self._handler = handler
        self._intensity = intensity or Intensity()
        self._restarts: deque[float] = deque()

    async def answer(self, envelope: Envelope[B], now: Callable[[], float]) -> M | Crashed | None:
        """Return the answer to an envelope; None if the work was withdrawn.

        `now` returns the time for a `Crashed` message.

        A withdrawn call that has not begun is still passed to the handler, which then answers that the call was not
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
                    # The text is journaled and shown, so it passes the same redactor as the logs.
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
"""The largest number of envelopes that can wait in the mailbox of one actor. It is far above any budget of calls. So
`put` fails only if the program has a bug.
"""


class Mailbox(Generic[B, M]):
    """A bounded channel of envelopes, and up to `Actor.concurrency` tasks that receive from it.

    A task is started in `nursery` when an envelope arrives, and ends when the channel is empty. So an idle actor costs
    nothing. `deliver` is called with every answer, also while the nursery is being cancelled, so `deliver` must shield
    its own waits. `now` returns the time for a `Crashed` message.
    """

    def __init__(
        self, actor: Actor[B, M], nursery: trio.Nursery, deliver: Deliver[M], now: Callable[[], float]
    ) -> None:
        self._actor, self._nursery, self._deliver, self._now = actor, nursery, deliver, now
        self._send, self._receive = trio.open_memory_channel[Envelope[B]](MAILBOX_MAX)
        self._tasks = 0

    def put(self, envelope: Envelope[B]) -> None:
        """Add an envelope, without blocking.

        Raises `trio.WouldBlock` if `MAILBOX_MAX` envelopes wait already, which is a bug.
        """
        self._send.send_nowait(envelope)
        if self._tasks < self._actor.concurrency:
            self._start()

    def flush(self) -> None:
        """Start a task for each waiting envelope, without regard to `concurrency`.

        The supervisor calls this when the run parks, because all tasks then end soon.
        """
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
