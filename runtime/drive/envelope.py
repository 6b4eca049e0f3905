"""What the supervisor and an actor pass each other: work in an envelope, reports while it is done, and the answer."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import trio
from trio.lowlevel import checkpoint_if_cancelled

from runtime.core.machine import Work
from runtime.core.messages import Crashed, Message

B = TypeVar("B")
M = TypeVar("M")


async def _always_recorded(_: object) -> bool:
    """Return True, as if the message was recorded: the default where there is no supervisor, as in a handler's test."""
    await trio.lowlevel.checkpoint()
    return True


@dataclass(slots=True, eq=False)
class Envelope(Generic[B]):
    """One piece of work for an actor. The supervisor changes it while the actor works, to withdraw or to park it."""

    work: Work
    """The request, its id, and whether it may be done twice."""
    brief: B
    """All that the actor may see of the run (`Machine.brief`)."""
    trace: Mapping[str, str | int] = field(default_factory=dict)
    """The ids that are added to log lines; they are passed here since channels do not carry context variables."""
    ensure_held: Callable[[], Awaitable[None]] = checkpoint_if_cancelled
    """Awaited before each paid call. Raises `Fenced` if another driver took over."""
    record: Callable[[Message], Awaitable[bool]] = _always_recorded
    """Awaited to record a message in the middle of the work; returns whether anything was appended to the journal."""
    withdrawn: bool = False
    """Whether the run does not want the work any more."""
    parked: bool = False
    """Whether the run is being parked: paid work that has not begun should not begin."""
    scope: trio.CancelScope | None = None
    """The scope of the handler while it runs; None otherwise."""
    unsent: trio.CancelScope | None = None
    """The scope in which a call waits for a free slot or for the journal; None after it was sent."""

    def withdraw(self) -> None:
        """Cancel the work. Work that has not begun never begins; a call that was not sent is reported as unsent."""
        self.withdrawn = True
        if self.unsent is not None:
            self.unsent.cancel()
        elif self.scope is not None:
            self.scope.cancel()

    def park(self) -> None:
        """Withdraw repeatable work, and cancel a call that waits to be sent. A call that was sent goes on."""
        self.parked = True
        if self.work.repeatable:
            self.withdraw()
        elif self.unsent is not None:
            self.unsent.cancel()

    def may_send(self) -> bool:
        """End a call's wait to be sent, and return whether it may be sent."""
        self.unsent = None
        return not (self.parked or self.withdrawn)


class Delivery(NamedTuple, Generic[M]):
    """What came of a piece of work, for the supervisor."""

    request_id: str
    """The id of the request that the work was for."""
    message: M | Crashed | None
    """The answer; `Crashed` where the handler raised too often, None where the work was withdrawn."""


@dataclass(slots=True, eq=False)
class Report(Generic[M]):
    """A message of an actor in the middle of its work; the actor waits until the supervisor has processed it."""

    message: M
    """The message, as the machine's `accept` takes it."""
    taken: trio.Event = field(default_factory=trio.Event)
    """Set when the supervisor has appended the resulting events."""
    appended: bool = False
    """Whether any event was appended."""


Handler = Callable[[Envelope[B]], Awaitable[M] | M]
"""Does the work. A handler that never waits is a plain function; it needs no scope, since it cannot be cancelled."""

Deliver = Callable[[Delivery[M]], Awaitable[None]]
"""Hands an actor's answer to the supervisor, and waits until it is taken."""
