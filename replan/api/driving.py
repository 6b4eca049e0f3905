"""Driving a run in the caller's kind of event loop, and work beside that loop."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from replan.api.handle import Begin, Run, TrioRun, drive_in_trio
from replan.api.loops import running_loop
from replan.api.options import Driving

T = TypeVar("T")


@asynccontextmanager
async def drive_run(run: str, begin: Begin, how: Driving, *, is_new: bool = False) -> AsyncIterator[Run[Any]]:
    """Drive a run for the length of a block, in the caller's kind of event loop."""
    if running_loop() == "asyncio":
        from replan.api.asyncio_run import drive_in_asyncio  # noqa: PLC0415 - a trio program needs no thread

        opened: AbstractAsyncContextManager[Run[Any]] = drive_in_asyncio(run, begin, how, is_new=is_new)
    else:
        opened = drive_in_trio(TrioRun(run, is_new=is_new), begin, how)
    async with opened as handle:
        yield handle


async def beside_the_loop(work: Callable[[], T]) -> T:
    """Do work that reads files: in an asyncio program in a thread, since its event loop also serves others."""
    if running_loop() != "asyncio":
        return work()
    import asyncio  # noqa: PLC0415 - a trio program does not need it

    return await asyncio.to_thread(work)
