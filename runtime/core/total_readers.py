"""The boundary of everything that reads a model's reply: an exception in a reader is a rejection of the reply.

A reader that raises has a bug. Without the boundary the run would end by it at every resume, for a text that a model
chose. Whoever listens gets the exception: `runtime.logs.log` does, since a pure module writes nothing itself.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

_listener: Callable[[str], None] | None = None


def listen(listener: Callable[[str], None] | None) -> None:
    """Call `listener` with what could not be read, while the exception is handled, from now on; None removes it."""
    global _listener  # noqa: PLW0603 - one process, one log
    _listener = listener


def total(what: str, rejected: Callable[[str], R]) -> Callable[[Callable[P, T]], Callable[P, T | R]]:
    """Make a reader total: where it raises, it returns `rejected` of one sentence that names `what` it reads."""

    def decorate(read: Callable[P, T]) -> Callable[P, T | R]:
        @wraps(read)
        def reading(*args: P.args, **kwargs: P.kwargs) -> T | R:
            try:
                return read(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - whatever a text of a model causes, it is not the end of its run
                if _listener is not None:
                    _listener(what)
                return rejected(unread(what, error))

        return reading

    return decorate


def unread(what: str, error: Exception) -> str:
    """Return the sentence of a rejection. It has the exception's type and not its text, which may quote anything."""
    return f"Replan could not read {what} ({type(error).__name__}); write it in a simpler form."
