"""A thread that owns one SQLite connection, and commits in groups.

Tasks hand in jobs: functions of the connection. The thread takes all that are waiting, runs them in one transaction
with a savepoint for each, commits once, and then wakes every task with one call into trio. So the cost of a durable
commit is shared by all runs that write at the same time, and a job that fails spoils only itself.
"""

import queue
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from typing import Any, Generic, TypeVar, cast

import apsw
import trio

from runtime.errors import JournalError

T = TypeVar("T")

Connect = Callable[[], apsw.Connection]

Explain = Callable[[Exception], Exception]
"""Turns an error of SQLite into the runtime's own; returns any other error as it is."""


class _Job(Generic[T]):
    __slots__ = ("done", "error", "result", "work")

    def __init__(self, work: Callable[[apsw.Connection], T]) -> None:
        self.work = work
        self.done = trio.Event()
        self.result: T | None = None
        self.error: Exception | None = None


@asynccontextmanager
async def open_worker(
    name: str, connect: Connect, explain: Explain, *, begin: str, batch_max: int
) -> AsyncIterator["Worker"]:
    """Start the thread, and stop it at the end: every job handed in before is still done, then nothing is left open.

    `begin` opens a transaction; at most `batch_max` jobs share one. Raises whatever `connect` raises, explained.
    """
    worker = Worker(name, connect, explain, begin=begin, batch_max=batch_max)
    worker.thread.start()
    try:
        await worker.ready.wait()
        if worker.failure is not None:
            raise worker.failure
        yield worker
    finally:
        with trio.CancelScope(shield=True):
            await worker.stop()
    if worker.failure is not None:
        raise worker.failure


class Worker:
    """Where jobs are handed in; made by `open_worker`."""

    def __init__(self, name: str, connect: Connect, explain: Explain, *, begin: str, batch_max: int) -> None:
        self.ready, self.failure = trio.Event(), cast("Exception | None", None)
        # A daemon, so that an interpreter that ends without closing the journal is like a kill and never hangs.
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._connect, self._explain, self._begin, self._batch_max = connect, explain, begin, batch_max
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._token = trio.lowlevel.current_trio_token()
        self._stopping, self._stopped = False, trio.Event()

    async def do(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run the job in a transaction and return its result once that is committed; raise its error otherwise.

        A caller that is cancelled while it waits does not take the job back.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._stopping:
            raise JournalError("the journal is closed")
        job = _Job(work)
        self._jobs.put(job)
        await job.done.wait()
        if job.error is not None:
            raise job.error
        return cast("T", job.result)

    async def stop(self) -> None:
        """Let the thread finish what it was given, close its connection and end."""
        self._stopping = True
        self._jobs.put(None)
        await self._stopped.wait()
        self.thread.join()

    def _run(self) -> None:
        try:
            with closing(self._connect()) as connection:
                self._tell(self.ready.set)
                while batch := self._next_batch():
                    self._commit(connection, batch)
                    self._tell(_wake, batch)
        except Exception as error:  # noqa: BLE001 -- opening or closing failed: `open_worker` raises it
            self.failure = self._explained(error)
        finally:
            self._tell(self.ready.set)
            self._tell(self._stopped.set)

    def _next_batch(self) -> list[_Job[Any]]:
        """Wait for a job and take it with all that are behind it; an empty batch means to stop."""
        batch: list[_Job[Any]] = []
        job = self._jobs.get()
        while job is not None:
            batch.append(job)
            if len(batch) == self._batch_max:
                return batch
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            self._jobs.put(None)
        return batch

    def _commit(self, connection: apsw.Connection, batch: Sequence[_Job[Any]]) -> None:
        try:
            connection.execute(self._begin)
            for job in batch:
                self._attempt(connection, job)
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 -- a file system in Python may raise anything, and nobody may hang
            # The disk, a lock or the file itself: SQLite may have given up the transaction, so all of it goes.
            for job in batch:
                job.error = self._explained(error)
            if connection.in_transaction:
                # If that fails as well, the next BEGIN says so.
                with suppress(Exception):
                    connection.execute("ROLLBACK")

    def _attempt(self, connection: apsw.Connection, job: _Job[Any]) -> None:
        connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(connection)
        except Exception as error:
            if isinstance(error, apsw.Error) and not isinstance(error, apsw.ConstraintError):
                raise
            connection.execute("ROLLBACK TO job")
            job.error = self._explained(error)
        connection.execute("RELEASE job")

    def _explained(self, error: Exception) -> Exception:
        explained = self._explain(error)
        if explained is not error:
            explained.__cause__ = error
        return explained

    def _tell(self, call: Callable[..., object], *arguments: object) -> None:
        # After a crash of trio itself there is nobody left to tell.
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(call, *arguments)


def _wake(batch: Sequence[_Job[Any]]) -> None:
    for job in batch:
        job.done.set()
