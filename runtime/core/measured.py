"""What this process measures of itself: how long an append takes, and the leases that it lost. Off unless observed."""

from collections.abc import Callable

APPEND_SECONDS = "append_seconds"
"""The name of the measure of an append to the journal, in seconds."""
LEASE_LOST = "lease_lost"
"""The name of the measure of a run that another driver has taken; the value is 1."""

_observer: Callable[[str, float], None] | None = None


def measured(name: str, value: float) -> None:
    """Give a value to the observer, if there is one."""
    if _observer is not None:
        _observer(name, value)


def observe(observer: Callable[[str, float], None] | None) -> None:
    """Give every value to `observer` from now on; None for nobody. It is quick and raises nothing."""
    global _observer  # noqa: PLW0603 -- one process, one observer
    _observer = observer
