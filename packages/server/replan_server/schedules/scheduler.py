"""Starts the orders of schedules: one run for each time, even if several hosts serve the home.

The id of a run is made from its schedule and its time. The journal admits an id once, so only one host starts the
order. If a time passes without a start, a record has the id: a finished run of the kind `schedule`. The record
`NAME-vNUMBER` says since when a schedule has its times. Its inbox names the handled times, so no time is handled again
after its run was deleted.
"""

import math
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import trio
from pydantic import ValidationError

from actors.files.validation_errors import ParsedFile, usage_problem
from actors.handlers.agents import agent_kind
from actors.planning.prepare import PROBLEM_BYTES_MAX
from actors.run.agent import AgentEvent, AgentSettings, AgentStarted, AgentState, End, Prompt, Wish
from actors.run.ending import Outcome
from actors.run.kind import PreparedRun
from actors.values.format import stamp as shown_time
from replan.cli.inputs import read_file
from replan.runs.engine import Engine
from replan.runs.executing import EXECUTION, admit_alone, read_plan_file
from replan.runs.kind_interface import KindOrder, OrderContext, choose, installed_interfaces
from replan.runs.services import Process
from replan.setup.home_folder import locate_home
from replan.setup.limit_fields import limits_in
from replan.setup.settings import read_user_config, settings_of
from replan_server.schedules.timetable import ScheduleEntry, SkipDue, StartDue, Timetable, decide, due_of, run_of
from replan_server.service.orders import ExecutionOrder, Order, ServerOffer
from replan_server.settings import ServerSettings
from runtime.core.errors import JournalError, RunExists, UsageProblem
from runtime.core.events import make_storable
from runtime.core.ledger import Limits
from runtime.core.machine import Machine, settle
from runtime.core.messages import stamp
from runtime.host.notices import OutsideTrouble
from runtime.journal.head import place_moved_to
from runtime.journal.port import Fact, Placement, RunFilter, RunRow
from runtime.logs import log

LOOK_SECONDS = 1.0
"""The seconds between two looks at the clock. The journal is read only when a time has come."""
ROWS_MAX = 50
"""How many of the newest runs of a schedule are read at a time."""
NOT_STARTED = "not_started"
"""The outcome of a record whose order could not be started."""


class ScheduleRecorder:
    """The small agent of the records of schedules. Its task has three lines: the title, the outcome and the reason."""

    def start(self, task: str) -> str:
        """Return the task."""
        return task

    def apply(self, data: str, step: str, event: AgentEvent) -> str:
        """Change nothing."""
        del step, event
        return data

    def decide(self, state: AgentState[str]) -> Sequence[Wish]:
        """End the run at once."""
        _, *ended = state.data.split("\n", 2)
        outcome, why = ended or (Outcome.SUCCESS, "")
        return [End(outcome, why)]

    def prompt(self, state: AgentState[str], step: str) -> Prompt:
        """Return an empty prompt: no model is called."""
        del state, step
        return Prompt("")


SCHEDULE = agent_kind("schedule", ScheduleRecorder())
"""The kind of the records of schedules."""


async def write_record(engine: Engine, run: str, title: str, outcome: str, why: str) -> None:
    """Admit a record, already finished, in one transaction. Raises `RunExists`."""
    machine: Machine[Any, Any, Any] = SCHEDULE.machine
    at = engine.journal.now()
    task = make_storable("\n".join(" ".join(part.split()) for part in (title, outcome, why)))
    first = AgentStarted(at=at, run=run, task=task, limits=Limits(), settings=AgentSettings(), by=engine.by)
    accepted = machine.accept(machine.initial(), stamp(first, 0.0))
    assert isinstance(accepted, AgentStarted)
    state, events = settle(machine, machine.initial(), accepted)
    facts = [Fact(event) for event in events]
    header = (run, task.partition("\n")[0], SCHEDULE.name, SCHEDULE.format)
    await engine.journal.create(*header, facts=facts, summary=machine.summary(state), placement=engine.placement)


@dataclass(slots=True)
class Schedule:
    """A schedule of the config file in a host."""

    name: str
    entry: ScheduleEntry
    record: str = ""
    """The id of the record of its times; empty until the journal was read."""
    handled: float = 0.0
    """The last handled time. Before any time was handled, the time at which the schedule got its times."""
    next: float = 0.0
    """The first time after `handled`; infinite if there is no such time."""

    def done(self, time: float) -> None:
        """Record in memory that all times up to `time` are handled."""
        self.handled = max(self.handled, time)
        following = self.table.next(self.handled)
        self.next = math.inf if following is None else following

    @property
    def table(self) -> Timetable:
        """Its times."""
        return Timetable(self.entry.cron, self.entry.zone)

    @property
    def title(self) -> str:
        """The title of the record of its times."""
        return f"schedule {self.name}: {' '.join(self.entry.cron.split())} {self.entry.zone}"


class Scheduler:
    """Starts the orders of the schedules of a home."""

    def __init__(self, process: Process) -> None:
        """Take the settings of the process's home."""
        engine = process.engine
        settings = settings_of(engine.config, ServerSettings)
        self._process, self._schedules = process, [Schedule(*item) for item in settings.schedules.items()]
        self._offer = ServerOffer(engine.config, locate_home(engine.environment).folder, engine.root)
        self._trouble = ""

    async def run(self) -> None:
        """Start orders until cancelled. What cannot be started is recorded and reported, and the host goes on."""
        while self._schedules:
            for schedule in self._schedules:
                try:
                    await self.look(schedule)
                except JournalError as error:  # The next look comes soon, and the host reports a lasting error.
                    if str(error) != self._trouble:
                        self._trouble = str(error)
                        log.get_logger("schedules").warning("schedule.delayed", name=schedule.name, reason=str(error))
            await trio.sleep(LOOK_SECONDS)

    async def look(self, schedule: Schedule) -> None:
        """Carry out the current action of a schedule. Raises `JournalError`."""
        engine = self._engine_of(schedule)
        if not schedule.record:
            await self._begin(engine, schedule)
        now = engine.journal.now()
        if now < schedule.next:
            return
        rows = await _rows(engine, schedule.name)
        known = max((due_of(schedule.name, row.run) or 0 for row in rows), default=0)
        if known > schedule.handled:
            await self._note(engine, schedule, known)
        busy = next((row.run for row in rows if row.status != "finished" and row.kind != SCHEDULE.name), "")
        move = decide(schedule.table, schedule.entry.overlap, handled=schedule.handled, now=now, busy=busy)
        if move is None:
            return
        run = run_of(schedule.name, move.due)
        with suppress(RunExists):  # Another host was faster.
            await self._carry_out(engine, schedule, run, move)
        await self._note(engine, schedule, move.due)

    async def _note(self, engine: Engine, schedule: Schedule, due: int) -> None:
        """Record in the journal that a time is handled, even if its run is deleted later. Raises `JournalError`."""
        await engine.journal.post(schedule.record, f"due {due}", "{}")
        schedule.done(due)

    async def _carry_out(self, engine: Engine, schedule: Schedule, run: str, move: StartDue | SkipDue) -> None:
        """Start the order of a time, or record why it is not started. Raises `RunExists`, `JournalError`."""
        title = f"schedule {schedule.name} at {shown_time(move.due)}"
        if isinstance(move, SkipDue):
            why = f"{move.busy} has not finished"
            await write_record(engine, run, f"{title}: skipped, {why}", Outcome.CANCELLED, why)
            return
        try:
            prepared = await self._prepare(engine, schedule)
            if prepared.kind == EXECUTION:
                request: Any = prepared
                await admit_alone(engine, request, run, locate_home(engine.environment).folder)
            else:
                await engine.admit(prepared, run=run)
        except JournalError:
            raise
        except Exception as error:  # noqa: BLE001 -- a plug-in's own code may run here, and the host goes on
            why = str(error) if isinstance(error, UsageProblem) else f"{type(error).__name__}: {error}"
            if not isinstance(error, UsageProblem):
                log.get_logger("schedules").exception("schedule.failed", name=schedule.name)
            await write_record(engine, run, f"{title}: not started, {why}", NOT_STARTED, why)
            self._process.report(OutsideTrouble(run, f"not started: {why}"))

    async def _prepare(self, engine: Engine, schedule: Schedule) -> PreparedRun:
        """Return the order of a schedule, ready to begin. It may read many files, so this is done in a thread."""
        prepare = partial(prepare_order, schedule.entry, self._offer, engine, schedule.name)
        return await trio.to_thread.run_sync(prepare) if engine.threads else prepare()

    def _engine_of(self, schedule: Schedule) -> Engine:
        placement = Placement(self._offer.config.clients.tenant)
        return replace(self._process.engine, by=f"schedule:{schedule.name}", placement=placement)

    async def _begin(self, engine: Engine, schedule: Schedule) -> None:
        """Find the record of the schedule's times, or write one if the times are new. Raises `JournalError`."""
        name = schedule.name
        numbered = {
            int(match[1]): row
            for row in await engine.journal.runs(RunFilter(run_start=f"{name}-v", limit=1_000_000))
            if row.kind == SCHEDULE.name and (match := re.fullmatch(rf"{name}-v([0-9]{{1,9}})", row.run))
        }
        number = max(numbered, default=0)
        newest = numbered.get(number)
        if newest is None or newest.title != schedule.title or place_moved_to(newest.owner) is not None:
            number += 1
            try:
                await write_record(
                    engine, f"{name}-v{number}", schedule.title, Outcome.SUCCESS, "it starts at these times"
                )
            except RunExists:
                return  # Another host has written it in the meantime. The next look reads it.
            newest = await engine.journal.row(f"{name}-v{number}")
        done = [float(item.key.removeprefix("due ")) for item in await engine.journal.inbox(newest.run)]
        schedule.done(max([newest.created, *done]))
        schedule.record = newest.run


async def _rows(engine: Engine, name: str) -> list[RunRow]:
    """Return the newest runs of a schedule and all that have not finished."""
    start = f"{name}-"
    newest = await engine.journal.runs(RunFilter(run_start=start, limit=ROWS_MAX))
    unfinished = await engine.journal.runs(RunFilter(run_start=start, unfinished=True, limit=ROWS_MAX))
    return [row for row in (*newest, *unfinished) if due_of(name, row.run) is not None]


def prepare_order(entry: ScheduleEntry, offer: ServerOffer, engine: Engine, name: str) -> PreparedRun:
    """Return the order of a schedule, ready to begin. Raises `UsageProblem` with the key or the file as its place."""
    limits = limits_in(entry)
    if entry.problem is not None:
        path, hint = offer.folder / entry.problem, "the schedule's problem is the path of a text file"
        text = read_file(path, PROBLEM_BYTES_MAX, str(path), hint=hint, smaller="leave out logs and listings")
        order = Order(problem=text, workflow=entry.workflow, strict=entry.strict, model=entry.model, limits=limits)
        return offer.prepare(order, engine.registry, engine.environment).request
    if entry.plan is not None:
        plan = read_plan_file(str(offer.folder / entry.plan))
        execution = ExecutionOrder(plan=plan, tools=entry.tools or "", model=entry.model, limits=limits)
        return offer.prepare_execution(execution, engine.registry, engine.environment)
    interfaces = {interface.kind: interface for interface in installed_interfaces()}
    interface = choose(entry.kind or "", interfaces, "kind", things="kinds", setting="an installed package")
    try:
        fields = interface.order.model_validate(dict(entry.order))
    except ValidationError as error:
        document = ParsedFile(f"schedules.{name}.order", entry.order, {(key,): 0 for key in entry.order})
        raise usage_problem(error, document) from None
    ordered = KindOrder(fields=fields, model=entry.model, limits=limits)
    return interface.prepare(ordered, OrderContext(offer, engine.registry, engine.environment, may_take_long=True))


@asynccontextmanager
async def run_schedules(process: Process) -> AsyncIterator[None]:
    """Start the orders of the home's schedules for the length of a block."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Scheduler(process).run)
        yield
        nursery.cancel_scope.cancel()


def describe_schedules(environment: Mapping[str, str], now: float) -> str:
    """Return the schedules, with their next times. Raises `UsageProblem` for a file that is gone."""
    folder = locate_home(environment)
    shown = []
    for name, entry in settings_of(read_user_config(folder.config), ServerSettings).schedules.items():
        for key, file in (("problem", entry.problem), ("plan", entry.plan)):
            if file is not None and not (folder.folder / file).is_file():
                place = f"config.yaml schedules.{name}.{key}"
                raise UsageProblem(f"there is no file {file}", place=place, hint="a path begins at the config's folder")
        time = Timetable(entry.cron, entry.zone).next(now)
        shown.append(f"{name} {'never' if time is None else shown_time(time)}")
    return ", ".join(shown) or "none"
