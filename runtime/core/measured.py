"""What this process measures of itself: how long an append takes, and the leases that it lost. Off unless observed."""

from collections.abc import Callable

APPEND_SECONDS = "append_seconds"
"""The name of the measure of an append to the journal, in seconds."""
LEASE_LOST = "lease_lost"
"""The name of the measure of a run that another driver has taken; the value is 1."""

_observer: Callable[[str, float], None] | None = None


def report_measure(name: str, value: float) -> None:
    """Tell the observer of this process a value, if there is an observer."""
    if _observer is not None:
        _observer(name, value)


def observe(observer: Callable[[str, float], None] | None) -> None:
    """Tell `observer` every value from now on; None for nobody. It has to be quick and to raise nothing."""
    global _observer  # noqa: PLW0603 -- one process, one observer
    _observer = observer
