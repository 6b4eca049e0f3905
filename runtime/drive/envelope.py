"""Envelopes: one piece of work on its way to an actor, and the answer on its way back."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import trio
from trio.lowlevel import checkpoint_if_cancelled

from runtime.core.machine import Work
from runtime.core.messages import Crashed

B = TypeVar("B")
M = TypeVar("M")


async def _recorded(_: object) -> bool:
    """Take a message where there is no supervisor, as in a test of a handler."""
    await trio.lowlevel.checkpoint()
    return True


@dataclass(slots=True, eq=False)
class Envelope(Generic[B]):
    """One piece of work on its way to an actor."""

    work: Work
    """The work."""
    brief: B
    """All that the actor may see of the run (`Machine.brief`)."""
    trace: Mapping[str, str | int] = field(default_factory=dict)
    """The ids that log lines are bound to: channels do not carry context variables."""
    ensure_held: Callable[[], Awaitable[None]] = checkpoint_if_cancelled
    """To be awaited before each paid call. Raises `Fenced` if another driver took over."""
    record: Callable[[Any], Awaitable[bool]] = _recorded
    """Has a message about work that goes on appended, before it goes on; returns whether anything was appended."""
    withdrawn: bool = False
    """Whether the run does not want the work any more."""
    parked: bool = False
    """Whether the run is being parked: work that costs something, and has not begun, should not begin."""
    scope: trio.CancelScope | None = None
    """The scope that the handler runs in, while it does."""
    unsent: trio.CancelScope | None = None
    """The scope that a call waits in until it is sent: for a free slot, or for the journal."""

    def withdraw(self) -> None:
        """Cancel the work. Work that has not begun never begins; a call that is not sent yet is answered as unsent."""
        self.withdrawn = True
        if self.unsent is not None:
            self.unsent.cancel()
        elif self.scope is not None:
            self.scope.cancel()

    def park(self) -> None:
        """Withdraw repeatable work, and end a call's wait to be sent. A call that was sent goes on."""
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
    """The answer of an actor to a request, or None when the work was withdrawn."""

    request_id: str
    message: M | Crashed | None


@dataclass(slots=True, eq=False)
class Report:
    """A message of an actor about work that goes on; the actor waits until it has been taken."""

    message: Any
    """The message, as the machine's `accept` takes it."""
    taken: trio.Event = field(default_factory=trio.Event)
    """Set when the supervisor has appended what follows from it."""
    appended: bool = False
    """Whether anything followed from it."""


Handler = Callable[[Envelope[B]], Awaitable[M] | M]
"""Does the work. One that never waits is a plain function: it needs no scope, as nothing could interrupt it."""

Deliver = Callable[[Delivery[Any]], Awaitable[None]]
"""Takes an actor's answer."""
