"""The writer of a Postgres journal: callers wait for groups, which a thread with a connection commits."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar, cast

import trio

from runtime.journal.group_commit import GROUP_MAX, GroupCommit
from runtime.journal.postgres.committing import Committer, Outcome
from runtime.journal.postgres.connecting import Link
from runtime.journal.postgres.group import Alone, Group, Request
from runtime.journal.rules import Work
from runtime.journal.thread import ConnectionThread, Job

T = TypeVar("T")


@asynccontextmanager
async def open_writer(thread: ConnectionThread[Link], committer: Committer) -> AsyncIterator["Writer"]:
    """Open a writer on a thread; at the end finish all jobs."""
    writer = Writer(thread, committer)
    try:
        yield writer
    finally:
        with trio.CancelScope(shield=True):
            await writer.stop()
            await thread.do(committer.forget)


class Writer(GroupCommit[Group]):
    """Takes jobs, which are values; made by `open_writer`."""

    def __init__(self, thread: ConnectionThread[Link], committer: Committer) -> None:
        super().__init__(GROUP_MAX)
        self._thread, self._committer = thread, committer

    async def carry_out(self, work: Work[T] | Alone[T]) -> T:
        """Commit a job, and return its result; raise its error otherwise."""
        return await self.do(cast("Callable[[Group], T]", work))

    def _commit(self, group: Sequence[Job[Group, Any]]) -> None:
        works = [cast("Request", job.work) for job in group]
        commit = Job[Link, list[Outcome]](
            lambda link: self._committer.commit(link, works), partial(self._finish, group)
        )
        self._thread.post(commit)

    def _finish(self, group: Sequence[Job[Group, Any]], done: Job[Link, list[Outcome]]) -> None:
        for job, outcome in zip(group, done.outcome(), strict=True):
            job.result, job.error = outcome.result, outcome.error
            job.then(job)
        self._committed()
