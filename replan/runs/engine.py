"""The engine: starts, resumes and reads the runs of one journal. The command line and the Python API stand on it."""

import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import trio

from actors.handlers.actors import Registry, actors_for
from actors.planning.call_events import FailureClassified
from actors.planning.config import RunConfig
from actors.planning.events import EVENTS, PlanningEvent, RunStarted
from actors.planning.ids import is_child
from actors.planning.log_fields import log_fields
from actors.planning.machine import ChildBrief, PlanningMachine
from actors.planning.messages import Begin
from actors.planning.state import PlanningState, State
from actors.policy.cause import CLASSIFIER
from actors.run.calls import Replied
from actors.run.ids import step_of
from actors.run.state import NotStarted
from replan.runs.inbox import Heard, post_answer, post_decline, post_told, split
from replan.runs.models import Shared, is_stateless, open_model, provider_of
from replan.runs.prepare import RunRequest, title_of
from replan.runs.run_ids import check_own, children_of, new_run_id
from replan.runs.status import status_of
from replan.runs.workflow_drift import edited
from replan.setup.command_name import program
from replan.setup.data_files import data_root
from replan.views.result import Result, result_of
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import Held, JournalError, ReplanError, RunExists, RunNotFound, UsageProblem
from runtime.core.events import Codec, Record
from runtime.core.machine import Refused, fold
from runtime.core.messages import Crashed, Mailed, Parking
from runtime.drive.actor import Actor
from runtime.drive.changes import ChangeSignal
from runtime.drive.offline import append_one
from runtime.drive.options import Ending, LeaseTerms, Stop
from runtime.drive.supervisor import Supervisor
from runtime.host.hook import Hook
from runtime.host.wakeup import NoWakeUp, WakeUp
from runtime.journal.port import Journal, Posted, RunFilter, RunRow
from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in
from runtime.models.limiter import CallLimiter
from runtime.process.identity import identity, is_dead

CODEC: Codec[PlanningEvent] = Codec(EVENTS)
"""The codec of planning events, for every journal."""

HELD_SECONDS = 0.5
"""How long a run waits before it tries again to claim a child run that is held."""
WHY_MAX = 500
"""The longest reason, in characters, that is recorded for a run that cannot be driven."""
CANCEL = "cancel"
"""The key of the message that cancels a run: there is one, however often it is posted."""

P = TypeVar("P")
OnRecord = Callable[[Record[PlanningEvent], PlanningState], None]
Notice = Callable[[str], None]


def ignore(_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class DriveOptions:
    """How a run is driven, as `runtime.drive.supervisor.Supervisor` takes it."""

    stop: Stop | None = None
    """The request to stop; None where nobody can stop it."""
    on_record: OnRecord | None = None
    """Gets every record with the state after it."""
    notice: Notice = ignore
    """Gets a line when something outside holds the run up."""
    changed: ChangeSignal | None = None
    """Wakes the driver when there may be a message in the inbox; None polls the journal."""
    rest_after: float | None = None
    """The seconds of waiting for a clock after which a host takes the run back; None in the foreground."""
    differs: Notice | None = None
    """Gets a line, before a run is resumed, if its workflow's files have changed since it began."""


DETACHED = DriveOptions()
"""No callbacks, no stop."""


@dataclass(frozen=True)
class Engine:
    """Everything that driving runs needs. `machine` has no state, so one serves all runs."""

    journal: Journal[PlanningEvent]
    registry: Registry = field(default_factory=Registry)
    clock: Clock = field(default_factory=SystemClock)
    root: Path = field(default_factory=data_root)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    machine: PlanningMachine = field(default_factory=PlanningMachine)
    threads: bool = True
    turns: CallLimiter = field(default_factory=CallLimiter)
    wakeup: WakeUp = field(default_factory=NoWakeUp)
    hook: Hook = field(default_factory=Hook)
    models: Shared | None = None

    async def admit(self, job: RunRequest, *, run: str | None = None) -> str:
        """Write a new run down, for a host to drive, and wake the hosts; the run is durable when this returns."""
        name = run or new_run_id()
        await self.journal.create(name, job.title)
        await append_one(self.machine, self.journal, name, _lease(), self._first(name, job))
        self.wakeup.wake()
        return name

    async def record_crash(self, run: str, error: Exception) -> None:
        """Record that a bug of its driver has ended a run that nobody drives any more."""
        line = f"driver: {type(error).__name__}: {error}".splitlines()[0]
        why = Redactor(secrets_in(self.environment)).text(line)
        await append_one(self.machine, self.journal, run, _lease(), Crashed("", self.clock.now(), why))

    async def record_undrivable(self, run: str, problem: ReplanError) -> None:
        """Record why a run that nobody drives cannot be driven here, once, for whoever waits for it."""
        why = Redactor(secrets_in(self.environment)).text(f"the host cannot drive it: {problem}")[:WHY_MAX]
        await append_one(self.machine, self.journal, run, _lease(), Parking(self.clock.now(), handover=True, why=why))

    async def begin(self, job: RunRequest, options: DriveOptions = DETACHED, *, run: str | None = None) -> Result:
        """Admit a new run and drive it to its end, a question, or a stop.

        A run that was admitted, and whose driver died before its first record, is as good as new. Raises `RunExists`.
        """
        name = run or new_run_id()
        async with self._model(job.pinned.model, {}) as model:
            try:
                await self.journal.create(name, job.title)
            except RunExists:
                if (await self.journal.row(name)).last_seq > 0:
                    raise
            return await self._drive(name, job.pinned, model, self._first(name, job), options)

    async def resume(self, run: str, options: DriveOptions = DETACHED) -> Result:
        """Go on with a run where its journal ends. A finished run's result is returned as it is.

        Raises `RunNotFound`, `Held`, `JournalDamaged`, and `UsageProblem` for a run that never began, that is a step of
        another, or that needs a plug-in which is not there.
        """
        await check_own(self.load, run, "resume RUN")
        state, records = await self.load(run)
        if isinstance(state, NotStarted):
            hint = f"start it again with `{program()} run`"
            raise UsageProblem("the run was admitted, but stopped before anything was recorded", place=run, hint=hint)
        if state.run.finished is not None:
            await self._cancel_children(state)
            return result_of(run, state, "finished")
        missing = tuple(dict.fromkeys(name for one in state.config.all for name in self.registry.missing(one.workflow)))
        if missing:
            hint = "install it, or pass it as the run's start did, and resume again; nothing is lost"
            raise UsageProblem(f"this run needs the plug-in {' and '.join(missing)}", place=run, hint=hint)
        begun = records[0].event
        if options.differs is not None and isinstance(begun, RunStarted):
            said = edited(begun, state.config, self.registry, self.root)
            if said:
                options.differs(said)
        used = Counter(_purpose(one.event) for one in records if isinstance(one.event, Replied))
        async with self._model(state.config.model, used) as model:
            return await self._drive(run, state.config, model, None, options)

    async def load(self, run: str) -> tuple[PlanningState, list[Record[PlanningEvent]]]:
        """Return a run's state and its records. Raises `RunNotFound`, `JournalDamaged`."""
        records = await self.journal.read(run)
        return fold(self.machine, (one.event for one in records)), records

    async def result(self, run: str) -> Result:
        """Return what a run has come to so far."""
        state, _ = await self.load(run)
        heard, row = await self.state_with_inbox(run), await self.journal.row(run)
        return result_of(run, state, status_of(row, hosted=await self.hosted(), heard=heard), heard)

    async def hosted(self) -> bool:
        """Tell whether a host serves this home now. Asking wakes nobody."""
        return bool(await self.journal.hosts(dead=is_dead))

    async def state_with_inbox(self, run: str) -> PlanningState:
        """Return a run's state with all that lies in its inbox taken in, as facts alone: nothing follows from them yet.

        So people see their own words at once, also while no process drives the run. Raises as `load` does.
        """
        state, records = await self.load(run)
        taken = max((record.inbox or 0 for record in records), default=0)
        for item in await self.journal.inbox(run, taken):
            if isinstance(state, State):
                event = self.machine.accept(state, Mailed(item.inbox, item.key, item.body, item.at))
                state = state if event is None or isinstance(event, Refused) else self.machine.evolve(state, event)
        return state

    async def rows(self, which: RunFilter) -> list[tuple[RunRow, str]]:
        """Return the status rows that match, each with its status for people, who see their own words at once.

        Those of runs that are steps are left out: they have no books of their own, and take no orders.
        Only runs that wait with unread messages are read. One whose questions have all been answered does not wait any
        more; where another question is open still, the row names that one. Raises `JournalDamaged`.
        """
        shown, hosted = [], await self.hosted()
        for row in await self.journal.runs(which):
            heard = await self.state_with_inbox(row.run) if row.unread and row.summary.status == "waiting" else None
            status = status_of(row, hosted=hosted, heard=heard)
            if which.status in (None, status) and not is_child(row.run):
                shown.append((row if heard is None else _after(row, heard), status))
        return shown

    async def answer(self, question: str, text: str) -> Heard:
        """Post an answer to the question `RUN/ID`; it is in the journal when this returns.

        The same answer again is a `duplicate`, another one a `conflict` that says which stands. Raises `RunNotFound`,
        and `UsageProblem` for an unknown or closed question or an answer that does not fit.
        """
        asking = await self._asking(question)
        return await self._post_and_wake(post_answer(self.journal, asking, question, text))

    async def decline(self, question: str) -> Heard:
        """Post that a question will not be answered: the step that asked goes on without. Raises as `answer` does."""
        asking = await self._asking(question)
        return await self._post_and_wake(post_decline(self.journal, asking, question))

    async def _asking(self, question: str) -> PlanningState:
        """Return the state of the run that asks."""
        run, _ = split(question)
        await check_own(self.load, run, "questions RUN")
        return await self.state_with_inbox(run)

    async def tell(self, run: str, text: str, kind: str = "note") -> Posted:
        """Post a note, which later prompts show, or a requirement, which sends the run back as far as the policy says.

        Raises `RunNotFound`, and `UsageProblem` for an empty or too long text and for a run that has finished or is a
        step of another.
        """
        await check_own(self.load, run, "tell RUN TEXT")
        return await self._post_and_wake(post_told(self.journal, await self.state_with_inbox(run), run, text, kind))

    async def cancel(self, run: str) -> Posted:
        """Post the wish to cancel a run. A run that nobody drives is cancelled when it is driven next.

        Raises `RunNotFound`, and `UsageProblem` for a run that is a step of another.
        """
        await check_own(self.load, run, "cancel RUN")
        return await self._wish_cancelled(run)

    async def _wish_cancelled(self, run: str) -> Posted:
        await self.journal.row(run)
        return await self._post_and_wake(self.journal.post(run, CANCEL, json.dumps({"kind": "cancel"})))

    async def _post_and_wake(self, posting: Awaitable[P]) -> P:
        """Post a message, and wake the hosts: a run that waits for it goes on at once."""
        posted = await posting
        self.wakeup.wake()
        return posted

    async def finish_cancelled(self, run: str) -> Result:
        """Cancel a run that nobody drives: post the wish if it is not there yet, and record the end. No model is asked.

        A run that has finished is left as it is. Raises `Held`, `JournalDamaged`, and as `cancel` does.
        """
        await check_own(self.load, run, "cancel RUN")
        return await self._end_cancelled(run)

    async def _end_cancelled(self, run: str) -> Result:
        state, _ = await self.load(run)
        if isinstance(state, NotStarted) or state.run.finished is not None:
            await self._cancel_children(state)
            return await self.result(run)
        await self._wish_cancelled(run)
        supervisor = self._supervisor(run, [], DETACHED)
        ending = await supervisor.drive()
        await self._cancel_children(supervisor.state)
        return result_of(run, supervisor.state, _STATUS[ending])

    def _first(self, run: str, job: RunRequest) -> Begin:
        pinned = job.pinned.model_dump_json()
        return Begin(self.clock.now(), run, job.problem, pinned, job.limits, source=job.source, given=job.given)

    @asynccontextmanager
    async def _model(self, name: str, used: Mapping[str, int]) -> AsyncIterator[Any]:
        opening = open_model(
            name,
            journal=self.journal,
            environment=self.environment,
            root=self.root,
            clock=self.clock,
            used=used,
        )
        if self.models is not None and is_stateless(name):
            yield await self.models.get(name, opening)
            return
        async with opening as model:
            yield model

    async def _drive(
        self, run: str, pinned: RunConfig, model: Any, first: Begin | None, options: DriveOptions
    ) -> Result:
        supervisor = self._supervisor(run, self._actors(pinned, model, options), options)
        ending = await supervisor.drive(first)
        await self._cancel_children(supervisor.state)
        return result_of(run, supervisor.state, _STATUS[ending])

    def _actors(self, pinned: RunConfig, model: Any, options: DriveOptions) -> list[Actor[Any, Any]]:
        provider = provider_of(pinned.model, self.environment)
        turn = nullcontext if provider is None else self.turns.of_run(provider)
        drive = partial(self._child, model, DriveOptions(stop=options.stop))
        return actors_for(pinned, model, self.registry, self.clock, threads=self.threads, turn=turn, drive=drive)

    async def _child(self, model: Any, options: DriveOptions, brief: ChildBrief) -> State | None:
        """Drive a step's own run from where its journal ends; one that has finished is only read."""
        with suppress(RunExists):
            await self.journal.create(brief.run, title_of(brief.problem))
        state, _ = await self.load(brief.run)
        if isinstance(state, State) and state.run.finished is not None:
            return state
        first = None
        if isinstance(state, NotStarted):
            pinned = brief.pinned.model_dump_json()
            first = Begin(self.clock.now(), brief.run, brief.problem, pinned, brief.limits, child=True)
        supervisor = self._supervisor(brief.run, self._actors(brief.pinned, model, options), options)
        ending = None
        while ending is None:
            try:
                ending = await supervisor.drive(first)
            except Held:  # Somebody looks at it, or a killed driver's lease has not run out: it is ours all the same.
                await trio.sleep(HELD_SECONDS)
        await self._cancel_children(supervisor.state)
        last = supervisor.state
        return last if ending is Ending.FINISHED and isinstance(last, State) else None

    async def _cancel_children(self, state: PlanningState) -> None:
        """End the runs of a finished run's steps that were withdrawn before they ended.

        If that fails for a while, the run has ended all the same; whoever resumes it next ends what is left.
        """
        if state.run.finished is None:
            return
        try:
            for child in children_of(state):
                with suppress(RunNotFound, Held):  # Whoever holds one finds that nobody waits for it.
                    await self._end_cancelled(child)
        except JournalError as error:
            if not error.passing:
                raise
            log.get_logger("run").warning("children.kept", run_id=state.run.run_id, reason=str(error))

    def _supervisor(
        self, run: str, actors: Sequence[Actor[Any, Any]], options: DriveOptions
    ) -> Supervisor[PlanningState, PlanningEvent, Any]:
        return Supervisor(
            run,
            machine=self.machine,
            journal=self.journal,
            actors=actors,
            lease=_lease(),
            stop=options.stop,
            on_record=options.on_record,
            trace=log_fields,
            notice=options.notice,
            changed=options.changed,
            rest_after=options.rest_after,
        )


_STATUS = {Ending.FINISHED: "finished", Ending.WAITING: "waiting", Ending.PARKED: "parked"}


def _lease() -> LeaseTerms:
    return LeaseTerms(owner=identity(), dead=is_dead)


def _after(row: RunRow, heard: PlanningState) -> RunRow:
    """Return the row of a waiting run after what people have said: it waits for the first question that is left."""
    first = next(iter(heard.run.open_questions), "")
    return replace(row, summary=replace(row.summary, detail=first, waiting_since=heard.run.asked_since))


def _purpose(reply: Replied) -> str:
    """Return what a reply was asked for: a step, or the classification of its failure."""
    return CLASSIFIER if isinstance(reply, FailureClassified) else step_of(reply.request_id)
