"""Group commit: the writes of all runs share durable commits, in every store.

A statement takes little time, but a commit waits for a disk. So all waiting jobs form a group, which the store commits
as one transaction. Meanwhile the next group collects.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import trio

from runtime.core.errors import JournalError
from runtime.journal.thread import A, T, ThreadJob


GROUP_MAX = 512
"""The largest number of jobs that share a commit: enough to spread its cost, few enough to keep the wait short."""


class GroupCommit(ABC, Generic[A]):
    """Collects jobs into groups; a subclass commits one group after the other, and calls `_committed` after each."""

    def __init__(self, group_max: int) -> None:
        self._group_max = group_max
        self._waiting: deque[ThreadJob[A, Any]] = deque()
        self._committing, self._due = False, False
        self._idle: trio.Event | None = None

    @trio.lowlevel.enable_ki_protection  # Ctrl+C in the middle would leave all callers of this group waiting.
    async def do(self, work: Callable[[A], T]) -> T:
        """Run the job in a transaction. Return its result after the commit, or raise its error.

        The caller waits until the job is done, even if it is cancelled, so it knows what was written.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._idle is not None:
            raise JournalError("the journal is closed")
        task = trio.lowlevel.current_task()
        job: ThreadJob[A, T] = ThreadJob(work, lambda _: trio.lowlevel.reschedule(task))
        self._waiting.append(job)
        if not (self._committing or self._due):
            # Not at once, so that other tasks that write in this pass of the scheduler join the group.
            self._due = True
            await trio.lowlevel.cancel_shielded_checkpoint()
            self._due = False
            self._write()
        await trio.lowlevel.wait_task_rescheduled(_refuse_cancel)
        return job.outcome()

    async def stop(self) -> None:
        """Accept no more jobs, and wait for the pending ones."""
        self._idle = trio.Event()
        if self._waiting or self._committing:
            await self._idle.wait()

    @abstractmethod
    def _commit(self, group: Sequence[ThreadJob[A, Any]]) -> None:
        """Begin to commit a group, without waiting for it."""

    def _start_next_group(self) -> None:
        self._committing = False
        self._write()

    def _write(self) -> None:
        group = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._group_max))]
        if group:
            self._committing = True
            self._commit(group)
        elif self._idle is not None:
            self._idle.set()


def _refuse_cancel(_raise_cancel: object) -> trio.lowlevel.Abort:
    """Refuse the cancellation of a wait for a commit."""
    return trio.lowlevel.Abort.FAILED
