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

ARCHIVE_LABELS = (
    "archive.written",  # the file is durable under a preliminary name
    "archive.verified",  # it was read back, and has no name yet
    "archive.named",  # the files have their names, durably; the journal still has the runs
    "archive.removing",  # the runs are deleted, and this is not committed
    "archive.removed",  # the journal does not have the runs any more
)
"""The points of `replan archive`."""

_hook: Callable[[str], None] | None = None


def reached(label: str) -> None:
    """Mark that the program has reached a labelled point."""
    if _hook is not None:
        _hook(label)


def install(hook: Callable[[str], None] | None) -> None:
    """Call `hook` at every point from now on; None removes it. For tests only."""
    global _hook  # noqa: PLW0603 - one process, one hook
    _hook = hook
