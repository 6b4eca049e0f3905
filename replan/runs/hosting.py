"""Hosts runs: starts the host of the runtime, with shared models, services and wake-ups."""

from collections.abc import Callable
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import trio

from replan.runs.changes import record_crash, record_undrivable
from replan.runs.engine import Engine
from replan.runs.models import Shared
from replan.runs.services import Process, run_services
from runtime.core.errors import ReplanError, RunNotFound, UsageProblem
from runtime.core.events import Record
from runtime.drive.options import ChangeSignal, DriveOptions, Ending, Stop, Turns
from runtime.host.host import Host
from runtime.host.notices import Changed, Notice, OutsideTrouble, Report
from runtime.host.wakeup import Dispatcher
from runtime.process.identity import identity, is_dead

REST_SECONDS = 5.0
"""If a run must wait for more than so many seconds, the host releases the run, and resumes it when the wait ends."""


async def host(
    engine: Engine,
    *,
    runs_max: int,
    stop: Stop,
    report: Report,
    dispatcher: Dispatcher | None = None,
    health_port: int | None = None,
) -> None:
    """Serve the home until a stop is requested. Drive all runs that no other process drives, and park them at the end.

    Runs of an unknown kind are not driven. `report` is called with each notice. With a `dispatcher`, only the runs that
    the dispatcher assigns to this host are driven. With a `health_port`, health checks are answered on this port.
    Raises `JournalDamaged`, `JournalNewer`.
    """

    def warn(text: str) -> None:
        report(OutsideTrouble("", text))

    def pass_on(notice: Notice) -> None:
        process.report(notice)  # A service may have replaced it.

    process = Process(engine, warn, stop, health_port, report)
    formats, problems = engine.kinds.formats()
    for problem in problems:
        warn(f"{problem}; this host does not drive runs of this kind")
    async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
        drive = _Drive(replace(engine, models=Shared(stack)), report)
        serving = Host(
            engine.journal,
            owner=identity(),
            drive=drive,
            record_crash=partial(record_crash, engine),
            dead=is_dead,
            report=pass_on,
            stop=stop,
            runs_max=runs_max,
            kinds=formats,
            dispatcher=dispatcher,
        )
        try:
            await nursery.start(engine.wakeup.listen, serving.wake)
        except UsageProblem as problem:  # The host also polls.
            warn(f"{problem}; nothing can wake this host, so it polls the journal")
        async with run_services(process, in_hosts=True):
            await serving.serve()
        nursery.cancel_scope.cancel()


def let_take_turns(engine: Engine) -> Engine:
    """Return an engine with which hosted runs take turns. The run with the fewest calls makes the next model call.

    Raises `UsageProblem` if no runs of the home share a budget.
    """
    budget = engine.config.budget
    if not any(shared.limited for shared in (budget, *budget.tenants.values())):
        hint = "set home_budget in config.yaml, or leave --fair out"
        raise UsageProblem("the runs of this home share no budget", place="--fair", hint=hint)
    return replace(engine, turns=Turns())


class _Drive:
    """Drives single runs for a host.

    If files that a run uses have changed since its start, the host reports the change once, not each time it drives the
    run.
    """

    def __init__(self, engine: Engine, report: Report) -> None:
        self._engine, self._report = engine, report
        self._edited: dict[str, str] = {}

    async def __call__(self, run: str, stop: Stop, changed: ChangeSignal, take: Callable[[], None]) -> Ending:
        turns = self._engine.turns
        with nullcontext() if turns is None else turns.join() as turn:
            return await self._resume(
                run, DriveOptions(stop, changed=changed, rest_after=REST_SECONDS, turn=turn), take
            )

    async def _resume(self, run: str, options: DriveOptions, take: Callable[[], None]) -> Ending:
        is_driving, edits = False, list[str]()

        def notice(text: str) -> None:
            self._report(OutsideTrouble(run, text))

        def on_record(_record: Record[Any], _: Any) -> None:
            nonlocal is_driving
            if not is_driving:  # The first record that this host writes: no other host drives the run.
                is_driving = True
                take()
                self._report_edits(run, edits)

        try:
            options = replace(options, on_record=on_record, notice=notice, on_drift=edits.append)
            result = await self._engine.resume(run, options)
        except (UsageProblem, RunNotFound) as problem:
            with suppress(ReplanError):  # For the programs that follow the run. The host reports it as well.
                await record_undrivable(self._engine, run, problem)
            raise
        if result.status == "finished":
            self._edited.pop(run, None)
        return Ending(result.status)

    def _report_edits(self, run: str, edits: list[str]) -> None:
        for change in edits:
            if self._edited.get(run) != change:
                self._edited[run] = change
                self._report(Changed(run, change))
