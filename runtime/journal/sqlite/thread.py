"""A thread that owns one SQLite connection and does what may wait for a disk or for another process, in order."""

import queue
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from typing import Any, Generic, TypeVar, cast

import apsw
import trio

from runtime.core.errors import JournalError

T = TypeVar("T")

Connect = Callable[[], apsw.Connection]

Explain = Callable[[Exception], Exception]
"""Turns an error of SQLite into the runtime's own; returns any other error as it is."""


class Job(Generic[T]):
    """A function of the connection, and what came of it. `then` is called with the job, on trio's thread.

    It must not hold the job itself: that is a cycle, and what it holds would wait for the garbage collector.
    """

    __slots__ = ("error", "result", "then", "work")

    def __init__(self, work: Callable[[apsw.Connection], T], then: Callable[["Job[T]"], object]) -> None:
        self.work, self.then = work, then
        self.result: T | None = None
        self.error: Exception | None = None

    def outcome(self) -> T:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return cast("T", self.result)


@asynccontextmanager
async def open_thread(name: str, connect: Connect, explain: Explain) -> AsyncIterator["ConnectionThread"]:
    """Start the thread, and stop it at the end: every job handed in before is still done, then nothing is left open.

    Raises whatever `connect` raises, explained.
    """
    thread = ConnectionThread(name, connect, explain)
    thread.start()
    try:
        await thread.ready.wait()
        if thread.failure is not None:
            raise thread.failure
        yield thread
    finally:
        with trio.CancelScope(shield=True):
            await thread.stop()
    if thread.failure is not None:
        raise thread.failure


class ConnectionThread:
    """Where jobs are handed in; made by `open_thread`."""

    def __init__(self, name: str, connect: Connect, explain: Explain) -> None:
        self.ready, self.failure = trio.Event(), cast("Exception | None", None)
        self._connect, self._explain = connect, explain
        # A daemon, so that an interpreter that ends without closing the journal is like a kill and never hangs.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._token = trio.lowlevel.current_trio_token()
        self._stopping, self._stopped = False, trio.Event()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def post(self, job: Job[Any]) -> None:
        """Hand in a job; its `then` is called on trio's thread once it is done."""
        self._jobs.put(job)

    async def do(self, work: Callable[[apsw.Connection], T]) -> T:
        """Return what the function returns, or raise what it raises, explained.

        A caller that is cancelled while it waits does not take the job back.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._stopping:
            raise JournalError("the journal is closed")
        done = trio.Event()
        job = Job(work, lambda _: done.set())
        self.post(job)
        await done.wait()
        return job.outcome()

    async def stop(self) -> None:
        """Let the thread finish what it was given, close its connection and end."""
        self._stopping = True
        self._jobs.put(None)
        await self._stopped.wait()
        self._thread.join()

    def _run(self) -> None:
        try:
            with closing(self._connect()) as connection:
                self._tell(self.ready.set)
                while self._do_next(connection):
                    pass
        except Exception as error:  # noqa: BLE001 -- opening or closing failed: `open_thread` raises it
            self.failure = explained(self._explain, error)
        finally:
            self._tell(self.ready.set)
            self._tell(self._stopped.set)

    def _do_next(self, connection: apsw.Connection) -> bool:
        job = self._jobs.get()
        if job is None:
            return False
        try:
            job.result = job.work(connection)
        except Exception as error:  # noqa: BLE001 -- whoever waits for it raises it
            job.error = explained(self._explain, error)
        self._tell(partial(job.then, job))
        return True

    def _tell(self, call: Callable[[], object]) -> None:
        # After a crash of trio itself there is nobody left to tell.
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(call)


def explained(explain: Explain, error: Exception) -> Exception:
    """Return what an error means for a user, with the error as its cause."""
    meaning = explain(error)
    if meaning is not error:
        meaning.__cause__ = error
    return meaning
