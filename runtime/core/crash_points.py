"""Labelled crash points: in production they do nothing; crash tests kill the process at one of them."""

from collections.abc import Callable

LABELS = (
    "append.before",  # decisions are made, nothing is written
    "append.after",  # decisions are written, no work is started
    "send.before",  # a model request is about to leave
    "reply.after",  # a model's reply has arrived and is not written
    "judge.after",  # a verdict is made and not written
    "claim.after",  # the run is claimed and not read; of a new one, nothing is written
    "renew.before",  # a quarter of the lease has passed
    "finish.after",  # the last record is written, the lease is not released
)

COPY_LABELS = (
    "copy.marked",  # runs are marked as moved in the source, and are not in the target
    "copy.added",  # they are in the target
    "copy.verified",  # all of them was found in the target, and the source still has them
    "copy.removing",  # they are deleted from the source, and this is not committed
    "copy.removed",  # the source does not have them any more
)
"""The points of `replan home copy`."""

_hook: Callable[[str], None] | None = None


def mark_point(label: str) -> None:
    """Mark that the program has reached a labelled point."""
    if _hook is not None:
        _hook(label)


def install(hook: Callable[[str], None] | None) -> None:
    """Call `hook` at every point from now on; None removes it. For tests only."""
    global _hook  # noqa: PLW0603 - one process, one hook
    _hook = hook
