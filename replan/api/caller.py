"""The caller's event loop, as the trio thread sees it: functions of the caller's program run there, or beside it."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import trio

from actors.guards.port import AnyGuard
from actors.handlers.generators import TextMaker
from actors.run.open_question import OpenQuestion
from replan.api.options import Ask, Driving

CANCEL_SECONDS = 1.0
"""How long the trio thread waits for a cancelled function of the caller to end, where its event loop is blocked."""

LOOK_SECONDS = 1.0
"""How often the trio thread looks whether the caller's event loop has closed."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An asyncio program that has started a run."""

    on_cancelled: Callable[[], object]
    """Called in the trio thread when the program cancels a function that the run waits for, as it does at its end."""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    """Its event loop."""
    context: Context = field(default_factory=copy_context)
    """The context variables at the start of the run, which its functions see."""

    def wrapped(self, options: Driving) -> Driving:
        """Return the options with plug-ins and `ask` that may be called in the trio thread.

        `ask` and coroutine functions run in the caller's event loop, other plug-ins in a worker thread.
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
        """Call a function, await what it returns if that is an awaitable, and return the value; raise its error."""
        if _is_async(function):
            return await self._in_loop(partial(function, *arguments))
        work = partial(self.context.copy().run, function, *arguments)
        answer = await trio.to_thread.run_sync(work, abandon_on_cancel=True)
        return await self._in_loop(lambda: answer) if inspect.isawaitable(answer) else answer

    async def _ask(self, ask: Ask, question: OpenQuestion) -> str | None:
        answer: str | None = await self._in_loop(partial(ask, question))
        return answer

    async def _in_loop(self, function: Callable[[], Any]) -> Any:
        """Call a function in the caller's event loop. A cancel on either side is forwarded to the other."""
        task: asyncio.Task[Any] | None = None
        ended = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def end(_: object) -> None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(ended.set)

        def begin() -> None:
            nonlocal task
            task = self.loop.create_task(_awaited(function), context=self.context.copy())
            task.add_done_callback(end)

        def cancel() -> None:
            if task is not None:
                task.cancel()

        try:
            self.loop.call_soon_threadsafe(begin)
        except RuntimeError:  # It has closed: the program ends.
            await self._parked()
        try:
            while not ended.is_set():
                with trio.move_on_after(LOOK_SECONDS):
                    await ended.wait()
                if self.loop.is_closed():
                    await self._parked()
        except trio.Cancelled:
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(cancel)
            with trio.move_on_after(CANCEL_SECONDS, shield=True):
                await ended.wait()
            raise
        assert task is not None
        if task.cancelled() or not isinstance(task.exception(), Exception | None):
            await self._parked()
        return task.result()

    async def _parked(self) -> None:
        """Park the run, and wait to be cancelled by that."""
        self.on_cancelled()
        await trio.sleep_forever()


async def _awaited(function: Callable[[], Any]) -> Any:
    answer = function()
    return await answer if isinstance(answer, Awaitable) else answer


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
