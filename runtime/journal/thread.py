"""A thread that owns one connection and runs jobs in order. A job may wait for a disk, a server or another process.

In every store, writes of several runs share a durable commit. A statement takes little time, but a commit waits for a
disk. So all waiting jobs form a group, and the store commits the group as one transaction. During the commit, new jobs
are collected for the next group.
"""

import queue
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

import trio

from runtime.core.errors import JournalError


class Closable(Protocol):
    """The object that a thread owns: a connection, or an object that opens connections."""

    def close(self) -> object:
        """Close the object."""


A = TypeVar("A")
C = TypeVar("C", bound=Closable)
T = TypeVar("T")

Connect = Callable[[], C]

Explain = Callable[[Exception], Exception]
"""A function that gets an error. For an error of the store, it returns the runtime's own error; it returns any other
error unchanged."""


class ThreadJob(Generic[A, T]):
    """A function to run, which usually gets the connection, and its result or error.

    After the function, `then` is called with this job, on trio's thread.

    `then` must not refer to the job, because that would be a reference cycle.
    """

    __slots__ = ("error", "result", "then", "work")

    def __init__(self, work: Callable[[A], T], then: Callable[["ThreadJob[A, T]"], object]) -> None:
        self.work, self.then = work, then
        self.result: T | None = None
        self.error: Exception | None = None

    def outcome(self) -> T:
        """Return the result, or raise the error.

        Call this method only once, because the job drops its reference to the error. An error refers to the frames that
        it passed through. If such a frame or its job also referred to the error, the caller's objects would stay in
        memory until the next garbage collection.
        """
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error
        return cast("T", self.result)


@asynccontextmanager
async def open_thread(name: str, connect: Connect[C], explain: Explain) -> AsyncIterator["ConnectionThread[C]"]:
    """Start the thread. At the end of the `with` block, finish all jobs, stop the thread and close the connection.

    Raises the error that `explain` returns for an error of `connect`.
    """
    thread = ConnectionThread(name, connect, explain)
    thread.start()
    try:
        await thread.ready.wait()
        thread.check()
        yield thread
    finally:
        with trio.CancelScope(shield=True):
            await thread.stop()
    thread.check()


class ConnectionThread(Generic[C]):
    """A thread with a connection, made by `open_thread`. The thread runs jobs in the order of their arrival."""

    def __init__(self, name: str, connect: Connect[C], explain: Explain) -> None:
        self.ready = trio.Event()
        self._failure: Exception | None = None
        self._connect, self._explain = connect, explain
        # A daemon thread: an interpreter that exits without closing the journal must not hang.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._jobs: queue.SimpleQueue[ThreadJob[C, Any] | None] = queue.SimpleQueue()
        self._token = trio.lowlevel.current_trio_token()
        self._stopping, self._stopped = False, trio.Event()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def check(self) -> None:
        """If the connection could not be opened or closed, raise the error. Only the first call raises it."""
        failure, self._failure = self._failure, None
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # Like the error of a job.

    def post(self, job: ThreadJob[C, Any]) -> None:
        """Queue a job. When the job is done, its `then` is called on trio's thread."""
        self._jobs.put(job)

    async def do(self, work: Callable[[C], T]) -> T:
        """Run a function on the thread.

        Return its result, or raise the error that `explain` returns for its error. If the caller is cancelled, the
        function runs nevertheless.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._stopping:
            raise JournalError("the journal is closed")
        done = trio.Event()
        job = ThreadJob[C, T](work, lambda _: done.set())
        self.post(job)
        await done.wait()
        return job.outcome()

    async def stop(self) -> None:
        """Wait until the thread has finished its jobs, closed its connection and ended."""
        self._stopping = True
        self._jobs.put(None)
        await self._stopped.wait()
        self._thread.join()

    def _run(self) -> None:
        try:
            with closing(self._connect()) as connection:
                self._call_soon(self.ready.set)
                while self._do_next(connection):
                    pass
        except Exception as error:  # noqa: BLE001 -- opening or closing failed: `open_thread` raises it
            self._failure = explain_error(self._explain, error)
        finally:
            self._call_soon(self.ready.set)
            self._call_soon(self._stopped.set)

    def _do_next(self, connection: C) -> bool:
        job = self._jobs.get()
        if job is None:
            return False
        try:
            job.result = job.work(connection)
        except Exception as error:  # noqa: BLE001 -- the caller raises it
            job.error = explain_error(self._explain, error)
        self._call_soon(partial(job.then, job))
        return True

    def _call_soon(self, call: Callable[[], object]) -> None:
        # If trio has crashed, its event loop accepts no more calls.
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(call)


def explain_error(explain: Explain, error: Exception) -> Exception:
    """Return the error that `explain` makes of an error, with the original error as its cause."""
    meaning = explain(error)
    if meaning is not error:
        meaning.__cause__ = error
    return meaning


GROUP_MAX = 512
"""The largest number of jobs that share one commit. It is large enough to spread the cost of a commit over many jobs.
It is small enough to keep the wait of each job short.
"""


class GroupCommit(ABC, Generic[A]):
    """Collects jobs into groups.

    A subclass commits one group after the other, and calls `_start_next_group` after each.
    """

    def __init__(self, group_max: int) -> None:
        self._group_max = group_max
        self._waiting: deque[ThreadJob[A, Any]] = deque()
        self._committing, self._due = False, False
        self._idle: trio.Event | None = None

    @trio.lowlevel.enable_ki_protection  # Ctrl+C in the middle would leave all callers of this group waiting.
    async def do(self, work: Callable[[A], T]) -> T:
        """Run a job in a transaction. Return its result after the commit, or raise its error.

        Even if the caller is cancelled, it waits until the job is done. So the caller knows what was written.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._idle is not None:
            raise JournalError("the journal is closed")
        task = trio.lowlevel.current_task()
        job: ThreadJob[A, T] = ThreadJob(work, lambda _: trio.lowlevel.reschedule(task))
        self._waiting.append(job)
        if not (self._committing or self._due):
            # The group does not start at once, so that other tasks that write in this pass of the scheduler can join.
            self._due = True
            await trio.lowlevel.cancel_shielded_checkpoint()
            self._due = False
            self._write()
        await trio.lowlevel.wait_task_rescheduled(_refuse_cancel)
        return job.outcome()

    async def stop(self) -> None:
        """Accept no more jobs, and wait until the pending jobs are done."""
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
    return trio.lowlevel.Abort.FAILED
