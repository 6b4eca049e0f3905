"""Starts and stops the trio thread of this process, and makes calls in it.

The runs of asyncio programs are driven there.

The thread starts at the first call and runs until the process ends. Then it has two seconds to stop its work. The runs
that it was driving can be resumed. A forked child process starts its own thread.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import anyio
import trio
from anyio.abc import TaskStatus
from anyio.from_thread import BlockingPortal, start_blocking_portal

T = TypeVar("T")

EXIT_SECONDS = 2.0
"""The longest time, in seconds, for which a process that ends waits for its trio thread."""


@dataclass(frozen=True, slots=True)
class TrioThread:
    """A thread that runs trio, and the nursery for work from other threads."""

    portal: AbstractContextManager[BlockingPortal]
    token: trio.lowlevel.TrioToken
    """The trio token with which other threads schedule calls in the trio thread."""
    nursery: trio.Nursery
    """The nursery that runs the work of other threads until `stop` cancels it."""
    ended: threading.Event

    def soon(self, function: Callable[..., object], *arguments: object) -> bool:
        """Schedule a call of a function in the trio thread. Return False if the thread has ended."""
        try:
            self.token.run_sync_soon(function, *arguments)
        except trio.RunFinishedError:
            return False
        return True

    def stop(self) -> None:
        """Cancel the work, and let the thread end. Wait at most `EXIT_SECONDS`."""
        self.soon(self.nursery.cancel_scope.cancel)
        if self.ended.wait(EXIT_SECONDS):
            self.portal.__exit__(None, None, None)


class _Slot:
    """Has the trio thread of this process, once it is started."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: TrioThread | None = None

    def get(self) -> TrioThread:
        """Return the thread, and start it if necessary. Starting it blocks for some milliseconds."""
        with self.lock:
            started = self.thread
            if started is None:
                started = self.thread = _start_thread()
        return started

    def close(self) -> None:
        with self.lock:
            thread, self.thread = self.thread, None
        if thread is not None:
            thread.stop()

    def forget(self) -> None:
        """Forget the parent's thread in a forked child process, so that the next call starts a new thread."""
        self.lock, self.thread = threading.Lock(), None


_SLOT = _Slot()
close = _SLOT.close
"""Stop the process's trio thread, and cancel the thread's work. The runs that the thread was driving can be resumed."""
atexit.register(close)
os.register_at_fork(after_in_child=_SLOT.forget)


async def trio_thread() -> TrioThread:
    """Return the process's trio thread. Call this from an asyncio program."""
    started = _SLOT.thread
    return await asyncio.to_thread(_SLOT.get) if started is None else started


def _start_thread() -> TrioThread:
    ended = threading.Event()

    async def serve(*, task_status: TaskStatus[tuple[trio.lowlevel.TrioToken, trio.Nursery]]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                task_status.started((trio.lowlevel.current_trio_token(), nursery))
                await trio.sleep_forever()
        finally:
            ended.set()

    entered = start_blocking_portal("trio", name="replan-trio")
    _, (token, nursery) = entered.__enter__().start_task(serve)
    return TrioThread(entered, token, nursery, ended)


class ThreadCall(Generic[T]):
    """A call that runs in the trio thread. The asyncio task that has started the call can await its outcome."""

    def __init__(self, thread: TrioThread, work: Callable[[], Awaitable[T]]) -> None:
        self._thread, self._work = thread, work
        self._scope = trio.CancelScope()
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[T] = self._loop.create_future()
        if not thread.soon(self._begin):
            self._ended.cancel()

    @property
    def ended(self) -> asyncio.Future[T]:
        """The future with the outcome of the work. Do not cancel it."""
        return self._ended

    def cancel(self) -> None:
        """Cancel the work. The caller still has to wait for its end."""
        self._thread.soon(self._scope.cancel)

    async def result(self) -> T:
        """Wait for the work to end, and return its value or raise its error.

        If the caller is cancelled, the work is cancelled too. The cancellation is raised here after the work has ended.
        """
        try:
            await asyncio.wait((self._ended,))
        except asyncio.CancelledError:
            self.cancel()
            await self.end()
            raise
        return self._ended.result()

    async def end(self) -> None:
        """Wait for the work to end, even in a cancelled scope of anyio. `ended` has the value of the work.

        If asyncio cancels the caller, the work is cancelled, and the cancellation is raised when the work has ended.
        """
        cancelled = False
        with anyio.CancelScope(shield=True):
            while not self._ended.done():
                try:
                    await asyncio.wait((self._ended,))
                except asyncio.CancelledError:
                    cancelled = True
                    self.cancel()
        if not self._ended.cancelled():
            self._ended.exception()  # Else asyncio would report that nobody has looked at it.
        if cancelled:
            raise asyncio.CancelledError

    def _begin(self) -> None:
        try:
            self._thread.nursery.start_soon(self._run)
        except RuntimeError:  # The thread is being stopped.
            self._report(self._ended.cancel)

    async def _run(self) -> None:
        report: Callable[[], object] = self._ended.cancel
        try:
            with self._scope:
                report = partial(self._ended.set_result, await self._work())
        except Exception as error:  # noqa: BLE001 - raised by `result`, where it is awaited
            report = partial(self._ended.set_exception, error)
        finally:
            self._report(report)

    def _report(self, report: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # The caller's event loop has closed: nobody waits.
            self._loop.call_soon_threadsafe(report)


async def run_in_trio_thread(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` in the trio thread, and return its value to an asyncio program.

    If the caller is cancelled, `work` is cancelled too.
    """
    return await ThreadCall(await trio_thread(), work).result()
