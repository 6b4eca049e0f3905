"""Events that say when they happened. A run has no clock of its own: its time is what it was told.

Deadlines go by `at`, which follows the wall clock. Active time goes by `mono`, which does not.
"""

from runtime.core.events import Event, Seconds


class TimedEvent(Event):
    """An event with the time at which the world told it."""

    at: Seconds
    """The time, in UTC seconds since 1970."""
    mono: float | None = None
    """The driver's monotonic seconds since its claim; None where no driver told it, as in a simulation."""
