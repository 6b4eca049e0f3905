"""Hooks of this process: functions that tests and observers set, and that the program calls at marked points."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

LABELS = (
    "append.before",  # decisions are made, nothing is written
    "append.after",  # decisions are written, no work is started
    "send.before",  # a model request is about to leave
    "reply.after",  # a model's reply has arrived and is not written
    "judge.after",  # a verdict is made and not written
    "claim.after",  # the run is claimed but not read; of a new run, nothing is written
    "renew.before",  # a quarter of the lease has passed
    "finish.after",  # the last record is written, the lease is not released
)

COPY_LABELS = (
    "copy.marked",  # runs are marked as moved in the source, and are not in the target
    "copy.added",  # they are in the target
    "copy.verified",  # all of them were found in the target, and the source still has them
    "copy.removing",  # they are deleted from the source, but the deletion is not committed
    "copy.removed",  # the source does not have them any more
)
"""The labels of the points in `replan home copy` at which tests can stop the program."""

_hook: Callable[[str], None] | None = None


def mark_point(label: str) -> None:
    """Call the crash hook, if there is one, with the label of the point that the program has reached."""
    if _hook is not None:
        _hook(label)


def set_crash_hook(hook: Callable[[str], None] | None) -> None:
    """Call `hook` at every marked point from now on; None removes the earlier hook. For tests only."""
    global _hook  # noqa: PLW0603 - one process, one hook
    _hook = hook


APPEND_SECONDS = "append_seconds"
"""The name of a measure: how many seconds an append to the journal took."""
LEASE_LOST = "lease_lost"
"""The name of a measure that a driver reports once for each run that another driver has taken over. The value of the
measure is always 1."""

_observer: Callable[[str, float], None] | None = None


def report_measure(name: str, value: float) -> None:
    """Pass a measured value to the observer of this process, if there is one."""
    if _observer is not None:
        _observer(name, value)


def observe_measures(observer: Callable[[str, float], None] | None) -> None:
    """Call `observer` with every measured value from now on; None removes the earlier observer.

    The observer delays the caller, so it must be quick. It must not raise.
    """
    global _observer  # noqa: PLW0603 -- one process, one observer
    _observer = observer


P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

_listener: Callable[[str], None] | None = None


def listen_to_readers(listener: Callable[[str], None] | None) -> None:
    """Set the function to call when a function made by `make_total` raises an exception; None removes it.

    The listener is called with the `what` of `make_total`, while the exception is handled.
    """
    global _listener  # noqa: PLW0603 - one process, one log
    _listener = listener


def make_total(what: str, rejected: Callable[[str], R]) -> Callable[[Callable[P, T]], Callable[P, T | R]]:
    """Return a decorator for a function that reads something.

    If the function raises, the decorated function returns `rejected(sentence)`. The sentence contains `what`, a name
    for the content that the function reads.
    """

    def decorate(read: Callable[P, T]) -> Callable[P, T | R]:
        @wraps(read)
        def reading(*args: P.args, **kwargs: P.kwargs) -> T | R:
            try:
                return read(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - whatever a text of a model causes, it is not the end of its run
                if _listener is not None:
                    _listener(what)
                return rejected(describe_unread(what, error))

        return reading

    return decorate


def describe_unread(what: str, error: Exception) -> str:
    """Return the sentence about a reader's exception.

    The sentence names the exception's type, but not the exception's text, which may quote any content.
    """
    return f"Replan could not read {what} ({type(error).__name__}); write it in a simpler form."
