"""Commits groups of jobs: retries after temporary errors, isolates failing jobs, and resolves interrupted commits.

If a connection breaks before COMMIT was sent, nothing was written. If the connection breaks later, the transaction may
have been committed. So each writer has a row in the database, and each transaction writes its own number into this row.
After a connection has broken, the writer reads the row under a lock, which waits until the interrupted transaction has
ended. Then the row shows whether this transaction was committed.
"""

import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import psycopg
import trio

from replan_server.postgres.connecting import Connection, DatabaseLink, explain, is_passing, leaves_unknown, roll_back
from replan_server.postgres.group import Alone, Group, GroupResults, Request, decide, size_of, writes_early
from replan_server.postgres.transaction import (
    MARK,
    OverBudgetError,
    begin_alone,
    begin_batch,
    last_transaction,
    lock,
    write,
)
from runtime.core.daily_budget import BudgetSource
from runtime.core.errors import JournalUncertain
from runtime.journal.rules import RunOperation
from runtime.journal.thread import GROUP_MAX, ConnectionThread, GroupCommit, ThreadJob

T = TypeVar("T")

RETRY_SECONDS = 10.0
"""For how many seconds a group of jobs is tried again after an error that may pass."""

PAUSE_SECONDS = 0.05
"""The first pause between two tries of a transaction, in seconds. Each further pause is 1.5 times as long, but at most
ten times this value."""

GROUP_BYTES_MAX = 64 * 1024 * 1024
"""The largest number of bytes of texts and events that several jobs write in one transaction. A larger job gets a
transaction of its own."""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The result of a job, or its error."""

    result: Any = None
    error: Exception | None = None


class _NotCommittedError(Exception):
    """The connection broke, and the transaction was certainly not committed."""


class Committer:
    """Commits groups of jobs for one open journal, one group after the other."""

    def __init__(self, budget: BudgetSource, retry_seconds: float = RETRY_SECONDS) -> None:
        """Store the daily budget, and the seconds during which a group that fails is retried."""
        self._budget, self._retry_seconds = budget, retry_seconds
        self._writer, self._number = secrets.token_bytes(12), 0

    def commit(self, link: DatabaseLink, works: Sequence[Request]) -> list[JobOutcome]:
        """Commit the jobs, and return the outcome of each job in order. Never raises."""
        outcomes: dict[int, JobOutcome] = {}
        for batch in _batches(works):
            self._commit_batch(link, batch, outcomes)
        return [outcomes[place] for place in range(len(works))]

    def forget(self, link: DatabaseLink) -> None:
        """Delete the writer's row in the database.

        Called when the journal is closed. If that fails, another process deletes the row some days later.
        """
        if self._number == 0:
            return
        statement = "DELETE FROM replan.writers WHERE id = %s OR at < clock_timestamp() - interval '7 days'"
        try:
            connection = link.connection()
            batch = begin_batch(connection)
            batch.add("SET LOCAL synchronous_commit = off")  # It may be lost.
            batch.add(statement, [self._writer])
            batch.add("COMMIT")
            batch.run()
        except psycopg.Error:
            link.close()

    def _commit_batch(self, link: DatabaseLink, batch: dict[int, Request], outcomes: dict[int, JobOutcome]) -> None:
        until, pause, exact = time.monotonic() + self._retry_seconds, PAUSE_SECONDS, False
        while batch:
            try:
                decided = self._attempt(link, batch, exact=exact)
            except OverBudgetError:
                exact = True
                continue
            except _NotCommittedError:
                continue
            except JournalUncertain as error:
                outcomes.update(dict.fromkeys(batch, JobOutcome(error=error)))
                return
            except Exception as error:  # noqa: BLE001 -- it becomes the error of a job, and no caller is left waiting
                again = isinstance(error, psycopg.Error) and is_passing(error)
                if again and time.monotonic() < until:
                    time.sleep(pause)
                    pause = min(pause * 1.5, 10 * PAUSE_SECONDS)
                    continue
                if not again and len(batch) > 1:  # The error of one job must not affect the other jobs.
                    for place, work in batch.items():
                        self._commit_batch(link, {place: work}, outcomes)
                    return
                outcomes.update(dict.fromkeys(batch, JobOutcome(error=explain(link.address, error))))
                return
            outcomes |= {place: JobOutcome(result=result) for place, result in decided.results.items()}
            outcomes |= {place: JobOutcome(error=error) for place, error in decided.errors.items()}
            batch = {place: work for place, work in batch.items() if place not in outcomes}

    def _attempt(self, link: DatabaseLink, batch: Mapping[int, Request], *, exact: bool) -> GroupResults:
        """Try once to commit jobs, and return the outcomes of the jobs that need no other try.

        If this raises, no transaction is left open.
        """
        connection = link.connection()
        try:
            for place, work in batch.items():
                if isinstance(work, Alone):
                    return GroupResults({place: self._attempt_alone(link, connection, work)})
            works = {place: work for place, work in batch.items() if isinstance(work, RunOperation)}
            group = lock(link, [*works.values()], self._budget.current(), exact=exact)
            decided = decide(group, works)
            early = {place: error for place, error in decided.errors.items() if writes_early(works[place])}
            if early:  # The other jobs are tried again without them, so nothing of the failed jobs is left.
                return GroupResults(errors=early)
            if group.changed:
                self._number += 1
                write(connection, group, self._writer, self._number)
                self._end(link, connection)
            return decided
        finally:
            roll_back(connection)

    def _attempt_alone(self, link: DatabaseLink, connection: Connection, work: Alone[T]) -> T:
        self._number += 1
        now = begin_alone(link)
        with connection.cursor(binary=True) as cursor:
            result = work.run(cursor, now)
            cursor.execute(MARK, (self._writer, self._number))
        self._end(link, connection)
        return result

    def _end(self, link: DatabaseLink, connection: Connection) -> None:
        """Commit. Raises `JournalUncertain` if the outcome is unknown.

        Raises `_NotCommittedError` or `psycopg.Error` if nothing was committed.
        """
        try:
            done = connection.execute("COMMIT")
        except psycopg.Error as error:
            if not leaves_unknown(error):
                raise
            link.close()
            if not self._was_committed(link):
                raise _NotCommittedError from error
        else:
            if done.statusmessage != "COMMIT":
                raise psycopg.OperationalError("the transaction was rolled back")

    def _was_committed(self, link: DatabaseLink) -> bool:
        until = time.monotonic() + self._retry_seconds
        while True:
            try:
                return last_transaction(link.connection(), self._writer) == self._number
            except psycopg.Error as error:
                link.close()
                if time.monotonic() > until:
                    raise JournalUncertain(link.address.place) from error
            time.sleep(PAUSE_SECONDS)


def _batches(works: Sequence[Request]) -> Iterator[dict[int, Request]]:
    batch: dict[int, Request] = {}
    size = 0
    for position, work in enumerate(works):
        if batch and (isinstance(work, Alone) or size + size_of(work) > GROUP_BYTES_MAX):
            yield batch
            batch, size = {}, 0
        batch[position] = work
        size += size_of(work)
        if isinstance(work, Alone):
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


@asynccontextmanager
async def open_writer(thread: ConnectionThread[DatabaseLink], committer: Committer) -> AsyncIterator["PostgresWriter"]:
    """Open a writer on a thread. When the context ends, all jobs are finished."""
    writer = PostgresWriter(thread, committer)
    try:
        yield writer
    finally:
        with trio.CancelScope(shield=True):
            await writer.stop()
            await thread.do(committer.forget)


class PostgresWriter(GroupCommit[Group]):
    """Carries out jobs, and commits them in groups. Use `open_writer` to make one."""

    def __init__(self, thread: ConnectionThread[DatabaseLink], committer: Committer) -> None:
        super().__init__(GROUP_MAX)
        self._thread, self._committer = thread, committer

    async def carry_out(self, work: RunOperation[T] | Alone[T]) -> T:
        """Commit a job, and return its result or raise its error."""
        return await self.do(cast("Callable[[Group], T]", work))

    def _commit(self, group: Sequence[ThreadJob[Group, Any]]) -> None:
        works = [cast("Request", job.work) for job in group]
        commit = ThreadJob[DatabaseLink, list[JobOutcome]](
            lambda link: self._committer.commit(link, works), partial(self._finish, group)
        )
        self._thread.post(commit)

    def _finish(self, group: Sequence[ThreadJob[Group, Any]], done: ThreadJob[DatabaseLink, list[JobOutcome]]) -> None:
        for job, outcome in zip(group, done.outcome(), strict=True):
            job.result, job.error = outcome.result, outcome.error
            job.then(job)
        self._start_next_group()
