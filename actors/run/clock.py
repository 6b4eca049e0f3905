"""Events that say when they happened. A run has no clock of its own: its time is what it was told.

Deadlines go by `at`, which follows the wall clock. Active time goes by `mono`, which does not.
"""

from typing import Any

from pydantic import field_serializer

from runtime.core.events import Event, Seconds
from runtime.core.ledger import Limits


class TimedEvent(Event):
    """An event with the time at which the world told it."""

    at: Seconds
    """The time, in UTC seconds since 1970."""
    mono: float | None = None
    """The driver's monotonic seconds since its claim."""


class Started(TimedEvent):
    """A run began: its first event, which is also the message that starts it.

    A kind has a subclass with all that later decisions depend on.
    """

    run: str
    """The run's id."""
    limits: Limits
    """The limits and the deadline."""
    child: bool = False
    """Whether it is a step of another run."""

    @field_serializer("limits")
    def _all_limits(self, limits: Limits) -> dict[str, Any]:
        """Write every limit: the one that a run was started with holds, whatever a later release defaults to."""
        return limits.model_dump(mode="json")
