"""Drives a run in the trio thread, for an asyncio program.

The records and the result of the run are delivered to the program's event loop. The program's async functions run in
this loop too.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import trio

from actors.run.kind import PreparedRun
from actors.run.open_question import OpenQuestion
from actors.run.result import RunResult
from replan.api.handle import RecordStream, Run, TrioRun, drive_in_trio
from replan.api.options import Ask, Driving
from replan.api.trio_thread import ThreadCall, TrioThread, trio_thread
from runtime.core.events import Record

if TYPE_CHECKING:
    from actors.guards.port import AnyGuard
    from actors.handlers.generators import TextMaker

CANCEL_SECONDS = 1.0
"""The longest time, in seconds, that the trio thread waits for the end of a function that it has cancelled in the
asyncio program."""

LOOK_SECONDS = 1.0
"""The seconds between two checks of whether the asyncio program's event loop has closed."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An asyncio program that has started a run."""

    on_cancelled: Callable[[], object]
    """Called in the trio thread when the program cancels a function that the run waits for."""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    context: Context = field(default_factory=copy_context)
    """The context variables when the run was started. The user's functions are called with these values."""

    def wrap_options(self, options: Driving) -> Driving:
        """Return the options, with `ask` and the plug-ins wrapped so that the trio thread can call them.

        `ask` and coroutine functions run in the caller's event loop. Other plug-ins run in a worker thread.
        """
        return replace(
            options,
            guards={name: cast("AnyGuard", partial(self.call, guard)) for name, guard in options.guards.items()},
            generators={
                name: cast("TextMaker", partial(self.call, generator)) for name, generator in options.generators.items()
            },
            ask=None if options.ask is None else partial(self._ask, options.ask),
        )

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function. If its result is awaitable, await it. Return the value, or raise the function's error."""
        if _is_async(function):
            return await self._in_loop(partial(function, *arguments))
        work = partial(self.context.copy().run, function, *arguments)
        answer = await trio.to_thread.run_sync(work, abandon_on_cancel=True)
        return await self._in_loop(lambda: answer) if inspect.isawaitable(answer) else answer

    async def _ask(self, ask: Ask, question: OpenQuestion) -> str | None:
        answer: str | None = await self._in_loop(partial(ask, question))
        return answer

    async def _in_loop(self, function: Callable[[], Any]) -> Any:
        """Call a function in the caller's event loop.

        If the caller of `_in_loop` is cancelled, the function is cancelled too. If only the function is cancelled, the
        run is parked.
        """
        task: asyncio.Task[Any] | None = None
        ended = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def end(_: object) -> None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(ended.set)

        def begin() -> None:
            nonlocal task
            task = self.loop.create_task(_call_and_wait(function), context=self.context.copy())
            task.add_done_callback(end)

        def cancel() -> None:
            if task is not None:
                task.cancel()

        try:
            self.loop.call_soon_threadsafe(begin)
        except RuntimeError:  # It has closed: the program ends.
            await self._park()
        try:
            while not ended.is_set():
                with trio.move_on_after(LOOK_SECONDS):
                    await ended.wait()
                if self.loop.is_closed():
                    await self._park()
        except trio.Cancelled:
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(cancel)
            with trio.move_on_after(CANCEL_SECONDS, shield=True):
                await ended.wait()
            raise
        assert task is not None
        if task.cancelled() or not isinstance(task.exception(), Exception | None):
            await self._park()
        return task.result()

    async def _park(self) -> None:
        """Park the run, and wait. Parking cancels this call."""
        self.on_cancelled()
        await trio.sleep_forever()


async def _call_and_wait(function: Callable[[], Any]) -> Any:
    answer = function()
    return await answer if isinstance(answer, Awaitable) else answer


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


R = TypeVar("R", bound=RunResult)


class AsyncioRun(Run[R]):
    """A run that was started by an asyncio program."""

    def __init__(self, run_id: str, thread: TrioThread, new: PreparedRun | None = None) -> None:
        self.run_id = run_id
        self._thread = thread
        self._loop = asyncio.get_running_loop()
        self._stream: RecordStream[R] = RecordStream(asyncio.Event)
        self._left = trio.Event()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._driven: TrioRun[R] = TrioRun(run_id, new, partial(self._soon, self._stream.append))

    async def result(self) -> R:
        """Return the result. Raises the errors of `Run.result`."""
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
    async def driven(self, options: Driving) -> AsyncIterator["AsyncioRun[R]"]:
        """Drive the run while the block runs."""
        caller = Caller(self._driven.leave)
        call = ThreadCall(self._thread, partial(self._drive, caller.wrap_options(options)))
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

    async def _drive(self, options: Driving) -> None:
        try:
            async with drive_in_trio(self._driven, options) as run, trio.open_nursery() as nursery:
                self._soon(self._open)
                nursery.start_soon(self._await_end, run)
                await self._left.wait()
                run.leave()
        finally:
            self._soon(self._stream.end, None, None)

    async def _await_end(self, run: TrioRun[R]) -> None:
        try:
            result = await run.result()
        except Exception as error:  # noqa: BLE001 - raised by `result`, where it is awaited
            self._soon(self._stream.end, None, error)
        else:
            self._soon(self._stream.end, result, None)

    def _soon(self, function: Any, *arguments: Any) -> None:
        """Call a function in the caller's event loop, from the trio thread.

        If the event loop has closed, park the run instead.
        """
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            self._driven.park()

    def _open(self) -> None:
        if not self._opened.done():
            self._opened.set_result(None)


@asynccontextmanager
async def drive_in_asyncio(run_id: str, options: Driving, new: PreparedRun | None = None) -> AsyncIterator[Run[Any]]:
    """Drive a run for the length of a block, from an asyncio program.

    Leaving the block early parks the run within 2 s.
    """
    run: AsyncioRun[Any] = AsyncioRun(run_id, await trio_thread(), new)
    async with run.driven(options):
        yield run
