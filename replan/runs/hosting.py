"""Hosting planning runs: the runtime's host, with models that runs share, the notify hook, and a bell in the home."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace

import trio

from actors.planning.events import PlanningEvent
from actors.planning.state import PlanningState
from replan.runs.engine import DriveOptions, Engine
from replan.runs.models import Shared
from replan.runs.notify import Notifier
from runtime.core.errors import ReplanError, RunNotFound, UsageProblem
from runtime.core.events import Record
from runtime.drive.changes import News
from runtime.drive.options import Ending, Stop
from runtime.host.host import Host, Tell
from runtime.process.identity import is_dead

REST_SECONDS = 5.0
"""A run that waits this long for a clock, or longer, is kept by the journal alone."""


async def host(engine: Engine, *, runs_max: int, stop: Stop, tell: Tell) -> None:
    """Serve the home until a stop is wished for: drive all of its runs that nobody drives, and park them at the end.

    `tell` hears what happens (`runtime.host.host`). Raises `JournalDamaged`, `JournalNewer`.
    """
    async with AsyncExitStack() as stack, trio.open_nursery() as hooks, trio.open_nursery() as nursery:
        drive = _Drive(replace(engine, models=Shared(stack)), hooks, tell)
        serving = Host(
            engine.journal,
            engine.clock,
            drive=drive,
            record_crash=engine.record_crash,
            dead=is_dead,
            tell=tell,
            stop=stop,
            runs_max=runs_max,
        )
        async with _bell(engine, serving, nursery, tell):
            tell("ready", "", "")
            await serving.serve()
        nursery.cancel_scope.cancel()


class _Drive:
    """Drives one run, and sees to it that its person hears of what it asks.

    How a run's workflow was edited since the run began is told once while it goes on, and not each time it is driven.
    """

    def __init__(self, engine: Engine, hooks: trio.Nursery, tell: Tell) -> None:
        self._engine, self._hooks, self._tell = engine, hooks, tell
        self._edited: dict[str, str] = {}

    async def __call__(self, run: str, stop: Stop, news: News, take: Callable[[], None]) -> Ending:
        notifier, taken, edits = Notifier(self._engine.hook, self._hooks), False, list[str]()

        def notice(text: str) -> None:
            self._tell("trouble", run, text)

        def on_record(record: Record[PlanningEvent], state: PlanningState) -> None:
            nonlocal taken
            if not taken:  # The first record that this host has written: no other one drives the run.
                taken = True
                take()
                self._tell_edits(run, edits)
            notifier.take(record.event, state)

        try:
            options = DriveOptions(stop, on_record, notice, news, REST_SECONDS, differs=edits.append)
            result = await self._engine.resume(run, options)
        except (UsageProblem, RunNotFound) as problem:
            with suppress(ReplanError):  # Who follows the run shall know; but it is told here all the same.
                await self._engine.record_undrivable(run, problem)
            raise
        notifier.tell(result)
        if result.status == "finished":
            self._edited.pop(run, None)
        return Ending(result.status)

    def _tell_edits(self, run: str, edits: list[str]) -> None:
        for said in edits:
            if self._edited.get(run) != said:
                self._edited[run] = said
                self._tell("edited", run, said)


@asynccontextmanager
async def _bell(engine: Engine, serving: Host, nursery: trio.Nursery, tell: Tell) -> AsyncIterator[None]:
    """Hang up the bell; where no socket can be made, go on without, since the host also looks by itself."""
    async with AsyncExitStack() as stack:
        try:
            if engine.bells.folder is not None:
                await stack.enter_async_context(engine.bells.hung(serving.ring, nursery))
        except UsageProblem as problem:
            tell("trouble", "", f"{problem}; `replan run` will not find this host")
        yield
