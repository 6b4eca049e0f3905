"""A run of an asyncio program: driven in the trio thread, its records and its end delivered to the caller's loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import trio

from actors.run.result import RunResult
from replan.api.caller import Caller
from replan.api.handle import Begin, Run, TrioRun, drive_in_trio
from replan.api.options import Driving
from replan.api.record_stream import RecordStream
from replan.api.trio_thread import Call, TrioThread, trio_thread
from runtime.core.events import Record

R = TypeVar("R", bound=RunResult)


class AsyncioRun(Run[R]):
    """A run that was started by an asyncio program."""

    def __init__(self, run_id: str, thread: TrioThread, *, is_new: bool = False) -> None:
        """Take the run's id, and the thread that will drive it."""
        self.run_id = run_id
        self._thread = thread
        self._loop = asyncio.get_running_loop()
        self._stream: RecordStream[R] = RecordStream(asyncio.Event)
        self._left = trio.Event()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._driven: TrioRun[R] = TrioRun(run_id, partial(self._soon, self._stream.append), is_new=is_new)

    async def result(self) -> R:
        """Return the result, or raise the error, as `Run.result` says."""
        result = await self._stream.result()
        if result is None:
            raise asyncio.CancelledError
        return result

    def __aiter__(self) -> AsyncIterator[Record[Any]]:
        return self._stream.records()

    def park(self) -> None:
        """Park the run."""
        self._thread.soon(self._driven.park)

    @asynccontextmanager
    async def driven(self, begin: Begin, options: Driving) -> AsyncIterator["AsyncioRun[R]"]:
        """Drive the run for the length of a block."""
        caller = Caller(self._driven.leave)
        call = Call(self._thread, partial(self._drive, begin, caller.wrapped(options)))
        try:
            await asyncio.wait((self._opened, call.ended), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.cancel()
            await call.end()
            raise
        try:
            if self._opened.done():
                yield self
        finally:
            self._thread.soon(self._left.set)
            await call.end()
        call.ended.result()

    async def _drive(self, begin: Begin, options: Driving) -> None:
        """Drive the run in the trio thread until it has come to rest and the block was left."""
        try:
            async with drive_in_trio(self._driven, begin, options) as run, trio.open_nursery() as nursery:
                self._soon(self._open)
                nursery.start_soon(self._await_end, run)
                await self._left.wait()
                run.leave()
        finally:
            self._soon(self._stream.end, None, None)

    async def _await_end(self, run: TrioRun[R]) -> None:
        """Hand over the result, or the error, as soon as there is one: the block may still go on."""
        try:
            result = await run.result()
        except Exception as error:  # noqa: BLE001 - raised by `result`, where it is awaited
            self._soon(self._stream.end, None, error)
        else:
            self._soon(self._stream.end, result, None)

    def _soon(self, function: Any, *arguments: Any) -> None:
        """Call a function in the caller's event loop, from the trio thread; do nothing where it has closed."""
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            self._driven.park()

    def _open(self) -> None:
        if not self._opened.done():
            self._opened.set_result(None)


@asynccontextmanager
async def drive_in_asyncio(
    run_id: str, begin: Begin, options: Driving, *, is_new: bool = False
) -> AsyncIterator[Run[Any]]:
    """Drive a run for the length of a block, from an asyncio program; leaving the block early parks it within 2 s."""
    run: AsyncioRun[Any] = AsyncioRun(run_id, await trio_thread(), is_new=is_new)
    async with run.driven(begin, options):
        yield run
