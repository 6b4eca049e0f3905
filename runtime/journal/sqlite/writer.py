"""Makes the commits of the SQLite journal.

A job is a function that gets the connection. The jobs of a group share a transaction, and so one durable commit. A
statement takes microseconds, but a commit waits for the disk. All waiting jobs run on trio's thread, one after the
other. Only the commit runs on the connection's thread. During the commit, new jobs are collected for the next group. On
the connection's thread, statements would take several times as long, because each statement releases the interpreter's
lock and must acquire it again.

Each job has a savepoint, so a failing job does not affect the others. If the storage fails, the whole group fails. The
write-ahead log is copied into the file between two groups, and no committed job waits for this.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import apsw
import trio

from runtime.journal.thread import (
    Connect,
    ConnectionThread,
    Explain,
    GroupCommit,
    ThreadJob,
    explain_error,
    open_thread,
)
from runtime.logs import log

PAGES_MAX = 1000
"""When the write-ahead log has so many pages, it is copied into the database file. The number is SQLite's default."""
WAIT_MS = 500
"""The longest time, in milliseconds, that a checkpoint waits for readers. This time is short, because other processes
wait for the checkpoint."""


class Checkpointer:
    """Copies the write-ahead log into the database file when the log has reached a certain length."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._pages, self._threshold = 0, PAGES_MAX
        connection.set_wal_hook(self._note_pages)  # Replaces SQLite's own checkpoints.

    @property
    def due(self) -> bool:
        """Whether the log is so long that it should be copied."""
        return self._pages >= self._threshold

    def run(self, connection: apsw.Connection) -> None:
        """Copy the log into the file.

        If the copy fails, nothing is lost, and the log is copied again after it has grown.
        """
        connection.set_busy_timeout(WAIT_MS)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
            self._threshold = PAGES_MAX
        except Exception as error:  # noqa: BLE001 -- a file system in Python may raise anything
            self._threshold = self._pages + PAGES_MAX
            log.get_logger("journal").warning("journal.log_kept", pages=self._pages, reason=str(error))
        finally:
            connection.set_busy_timeout(0)
        self._pages = 0

    def _note_pages(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK


A = TypeVar("A")
T = TypeVar("T")

BEGIN = "BEGIN IMMEDIATE"

BUSY_SECONDS = 0.001
"""The pause, in seconds, between two tries to write while another process writes. SQLite's own pauses grow to 0.1 s.
With such pauses, a process would wait for a third of a second if another process writes repeatedly.
"""


@asynccontextmanager
async def open_writer(
    name: str,
    connect: Connect[apsw.Connection],
    explain: Explain,
    *,
    busy_seconds: float,
    group_max: int,
    begun: Callable[[apsw.Connection], None] = lambda _: None,
    check: Callable[[], None] = lambda: None,
) -> AsyncIterator["SqliteWriter"]:
    """Open a connection for writing, with its thread. At the end of the `with` block, finish all jobs, and close both.

    `busy_seconds` is the time to wait for another process that writes. At most `group_max` jobs share a commit. `begun`
    is called in each transaction before its jobs, and `check` after each commit. If `begun` or `check` raises an error,
    every job in the group gets the error. Raises the error that `explain` returns for an error of `connect`.
    """
    async with open_thread(name, connect, explain) as thread:
        connection = await thread.do(lambda connection: connection)
        checks = begun, check
        writer = SqliteWriter(thread, connection, explain, checks, busy_seconds=busy_seconds, group_max=group_max)
        try:
            yield writer
        finally:
            with trio.CancelScope(shield=True):
                await writer.stop()


class SqliteWriter(GroupCommit[apsw.Connection]):
    """Runs jobs in transactions, several jobs in each transaction. Made by `open_writer`.

    The writer uses the connection only between commits.
    """

    def __init__(
        self,
        thread: ConnectionThread[apsw.Connection],
        connection: apsw.Connection,
        explain: Explain,
        checks: tuple[Callable[[apsw.Connection], None], Callable[[], None]],
        *,
        busy_seconds: float,
        group_max: int,
    ) -> None:
        super().__init__(group_max)
        self._thread, self._connection, self._explain = thread, connection, explain
        self._begun, self._check = checks
        self._busy_seconds = busy_seconds
        self._checkpointer = Checkpointer(connection)
        connection.set_busy_timeout(0)

    def _commit(self, group: Sequence[ThreadJob[apsw.Connection, Any]]) -> None:
        failure = _failure_of(self._connection.execute, BEGIN)
        if isinstance(failure, apsw.BusyError):  # Another process is writing: wait on the thread.
            self._thread.post(ThreadJob(self._begin_when_free, lambda job: self._attempt(group, job.result)))
        else:
            self._attempt(group, failure)

    def _begin_when_free(self, connection: apsw.Connection) -> Exception | None:
        until = time.monotonic() + self._busy_seconds
        connection.set_busy_handler(lambda _tries: _pause_or_give_up(until))
        failure = _failure_of(connection.execute, BEGIN)
        connection.set_busy_handler(None)
        return failure

    def _attempt(self, group: Sequence[ThreadJob[apsw.Connection, Any]], failure: Exception | None) -> None:
        """Run the jobs of a group, then commit their transaction, or roll it back if the storage failed."""
        failure = failure or _failure_of(self._begun, self._connection)
        for job in group:
            failure = failure or _failure_of(self._run, job)
        self._thread.post(
            ThreadJob(partial(_commit_or_roll_back, failure, self._check), lambda job: self._finish(group, job.result))
        )

    def _run(self, job: ThreadJob[apsw.Connection, Any]) -> None:
        connection = self._connection
        connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(connection)
        except Exception as error:
            if isinstance(error, apsw.Error) and not isinstance(error, apsw.ConstraintError):
                raise
            connection.execute("ROLLBACK TO job")
            job.error = explain_error(self._explain, error)
        connection.execute("RELEASE job")

    def _finish(self, group: Sequence[ThreadJob[apsw.Connection, Any]], failure: Exception | None) -> None:
        for job in group:
            if failure is not None:
                job.error = explain_error(self._explain, failure)
            job.then(job)
        if self._checkpointer.due:
            self._thread.post(ThreadJob(self._checkpointer.run, lambda _: self._start_next_group()))
        else:
            self._start_next_group()


def _pause_or_give_up(until: float) -> bool:
    time.sleep(BUSY_SECONDS)
    return time.monotonic() < until


def _commit_or_roll_back(
    failure: Exception | None, check: Callable[[], None], connection: apsw.Connection
) -> Exception | None:
    failure = failure or _failure_of(connection.execute, "COMMIT") or _failure_of(lambda _: check(), None)
    if failure is not None and connection.in_transaction:
        _failure_of(connection.execute, "ROLLBACK")  # If that fails too, the next BEGIN fails.
    return failure


def _failure_of(function: Callable[[A], object], argument: A) -> Exception | None:
    """Call a function, and return the error that it raises; None if it raises none.

    Every error is caught, so that no caller waits forever.
    """
    try:
        function(argument)
    except Exception as error:  # noqa: BLE001 -- it becomes the error of each job in the group
        return error
    return None
