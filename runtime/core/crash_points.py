"""Labelled crash points. Production leaves them empty; crash tests kill the process at one of them."""

from collections.abc import Callable

LABELS = (
    "append.before",  # decided, nothing written
    "append.after",  # written, nothing done
    "send.before",  # a model request is about to leave
    "reply.after",  # a model's reply is in hand, nothing written
    "judge.after",  # a verdict is in hand, nothing written
    "claim.after",  # the run is ours, nothing read
    "renew.before",  # a part of the lease is over, the rest of it goes on
    "finish.after",  # the last record is written, the lease not yet released
)

_hook: Callable[[str], None] | None = None


def reached(label: str) -> None:
    """Say that the shell has come to a labelled point."""
    if _hook is not None:
        _hook(label)


def install(hook: Callable[[str], None] | None) -> None:
    """Call `hook` at every point from now on; None empties it again. For tests only."""
    global _hook  # noqa: PLW0603 - one process, one hook
    _hook = hook
