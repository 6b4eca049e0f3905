"""Events that say when they happened. The time of a run is the latest that it was told; it has no clock of its own."""

from runtime.core.events import Event, Seconds


class TimedEvent(Event):
    """An event with the time at which the world told it."""

    at: Seconds
    """The time, in UTC seconds since 1970."""
