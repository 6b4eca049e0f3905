"""The engine: starts, resumes, reads and cancels the runs of one journal, whatever their kinds."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from actors.handlers.registry import Registry
from actors.handlers.tools import ending_actors
from actors.run.ids import is_child
from actors.run.kind import ChildRun, PreparedRun, Resources
from actors.run.result import RunResult, RunView
from replan.runs import inbox
from replan.runs.children import cancel_children, check_own, drive_child
from replan.runs.inbox import Heard
from replan.runs.loaded import AnyKind, Loaded, started
from replan.runs.models import Shared, is_stateless, open_model, provider_of
from replan.runs.options import DETACHED, DriveOptions
from replan.runs.run_ids import new_run_id
from replan.runs.status import row_after, status_of
from replan.setup.command_name import program
from replan.setup.data_files import data_root
from replan.setup.kinds import Kinds
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import JournalDamaged, KindUnknown, UsageProblem
from runtime.core.events import Record
from runtime.core.machine import Refused, fold
from runtime.core.messages import Mailed
from runtime.drive.actor import Actor
from runtime.drive.offline import admit
from runtime.drive.options import Admission, LeaseTerms
from runtime.drive.run_log import Snapshot
from runtime.drive.supervisor import Supervisor
from runtime.host.hook import Hook
from runtime.host.wakeup import NoWakeUp, WakeUp
from runtime.journal.kinds import drivable
from runtime.journal.port import Journal, Posted, RunFilter, RunRow
from runtime.models.limiter import CallLimiter
from runtime.models.watched import WatchedModel
from runtime.process.identity import identity, is_dead

READ_TRIES = 10
"""How often a run is read until its records and its row agree: more than the fastest driver needs."""

P = TypeVar("P")


@dataclass(frozen=True)
class Engine:
    """Everything that driving the runs of one journal needs."""

    journal: Journal[Any]
    """The journal, opened with `kinds.codecs`."""
    registry: Registry = field(default_factory=Registry)
    """The guards and generators that runs may name."""
    clock: Clock = field(default_factory=SystemClock)
    """The clock of this process, by which runs begin and calls are timed; leases and days go by the journal's own."""
    root: Path = field(default_factory=data_root)
    """The folder of the shipped `configs/` and `prompts/`."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """The environment that names keys and servers."""
    kinds: Kinds = field(default_factory=Kinds)
    """The kinds of runs that are known here."""
    threads: bool = True
    """Whether slow guards run in threads; not in simulations."""
    limiter: CallLimiter = field(default_factory=CallLimiter)
    """Limits the calls in flight to each provider and for each run."""
    wakeup: WakeUp = field(default_factory=NoWakeUp)
    """Wakes the hosts of the home."""
    hook: Hook = field(default_factory=Hook)
    """The user's program that is told that a run waits."""
    models: Shared | None = None
    """The models that runs share; None opens one for each run."""

    async def admit(self, prepared: PreparedRun, *, run: str | None = None) -> str:
        """Record the start of a new run, for a host to drive, and wake the hosts; return its id.

        The run is durable when this returns. Raises `RunExists`.
        """
        name, kind = run or new_run_id(), self.kinds.named(prepared.kind)
        admission = Admission(prepared.title, kind.name, kind.format)
        await admit(kind.machine, self.journal, name, admission, prepared.first(name, self.clock.now()))
        self.wakeup.wake()
        return name

    async def begin(
        self, prepared: PreparedRun, options: DriveOptions = DETACHED, *, run: str | None = None
    ) -> RunResult:
        """Start a new run and drive it to its end, a question, or a stop.

        It is admitted in the transaction of its first records. Raises `RunExists`.
        """
        name, kind = run or new_run_id(), self.kinds.named(prepared.kind)
        first = prepared.first(name, self.clock.now())
        state = started(kind, first)
        async with self.model(kind.model(state), {}) as model:
            admission = Admission(prepared.title, kind.name, kind.format)
            return await self._drive(name, kind, state, options, model=model, first=first, admission=admission)

    async def resume(self, run: str, options: DriveOptions = DETACHED) -> RunResult:
        """Go on with a run where its journal ends. A finished run's result is returned as it is.

        Raises `RunNotFound`, `KindUnknown`, `Held`, `JournalDamaged`, and `UsageProblem` for a run that never began,
        that is a step of another, or that needs a plug-in which is not there.
        """
        await check_own(self, run, "resume RUN")
        loaded = await self.read(run)
        kind, state = loaded.kind, loaded.state
        if not loaded.started:
            raise inbox.not_started(run)
        if loaded.finished:
            await cancel_children(self, kind, run, state)
            return self.view(run, kind, state, "finished")
        missing = kind.missing(state, self.registry)
        if missing:
            hint = (
                "install it, or pass it as the run's start did (--plugins FILE.py), and resume again; nothing is lost"
            )
            raise UsageProblem(f"this run needs the plug-in {' and '.join(missing)}", place=run, hint=hint)
        if options.differs is not None:
            text = kind.drift(loaded.records[0].event, state, self._resources(None, None, options))
            if text:
                options.differs(text)
        async with self.model(kind.model(state), loaded.replies) as model:
            return await self._drive(run, kind, state, options, model=model, snapshot=loaded.snapshot)

    async def kind_of(self, run: str) -> AnyKind:
        """Return a run's kind. Raises `RunNotFound`, `KindUnknown`, and `UsageProblem` for a broken one."""
        row = await self.journal.row(run)
        return self.kinds.get(run, row.kind, row.format)

    async def read(self, run: str) -> Loaded:
        """Return a run's kind, state and records. Raises as `kind_of` does, and `JournalDamaged`."""
        kind = await self.kind_of(run)
        records = await self.journal.read(run)
        return Loaded(kind, fold(kind.machine, (each.event for each in records)), records)

    async def read_with_row(self, run: str) -> tuple[Loaded, RunRow]:
        """Return a run as `read` does, and its status row after the same record. Raises as `read` does.

        The journal is read again where a driver has appended in between, at most `READ_TRIES` times.
        """
        loaded, row = await self.read(run), await self.journal.row(run)
        for _ in range(READ_TRIES - 1):
            if row.last_seq == loaded.snapshot.seq:
                break
            loaded, row = await self.read(run), await self.journal.row(run)
        return loaded, row

    async def load(self, run: str) -> tuple[Any, list[Record[Any]]]:
        """Return a run's state and its records. Raises as `read` does."""
        loaded = await self.read(run)
        return loaded.state, loaded.records

    async def result(self, run: str) -> RunResult:
        """Return what a run has come to so far. Raises as `read` does."""
        loaded, row = await self.read_with_row(run)
        with_inbox = await self.with_inbox(run, loaded)
        hosted = await self.hosted(row.kind, row.format)
        status = status_of(row, hosted=hosted, with_inbox=loaded.kind.run_state(with_inbox))
        return self.view(run, loaded.kind, loaded.state, status, with_inbox)

    def view(self, run: str, kind: AnyKind, state: Any, status: str, with_inbox: Any = None) -> RunResult:
        """Return what a run in a state has come to; `with_inbox` is the state after the messages of its inbox."""
        return kind.views.result(RunView(run, status, state, state if with_inbox is None else with_inbox, program()))

    async def hosted(self, kind: str, format: int) -> bool:
        """Tell whether a host serves this home now that drives runs of a kind in a format. Asking wakes nobody."""
        return any(drivable(host.kinds, kind, format) for host in await self.journal.hosts(dead=is_dead))

    async def with_inbox(self, run: str, loaded: Loaded) -> Any:
        """Return a run's state with the unread messages of its inbox accepted as facts, and no decision made.

        So people see their own messages at once, also while no process drives the run.
        """
        machine, state = loaded.kind.machine, loaded.state
        if not loaded.started:
            return state
        for item in await self.journal.inbox(run, loaded.inbox):
            event = machine.accept(state, Mailed(item.inbox, item.key, item.body, item.at))
            state = state if event is None or isinstance(event, Refused) else machine.evolve(state, event)
        return state

    async def state_with_inbox(self, run: str) -> Any:
        """Return a run's state as `with_inbox` does. Raises as `read` does."""
        return await self.with_inbox(run, await self.read(run))

    async def common_with_inbox(self, run: str) -> inbox.Common:
        """Return the common part of a run's state as `with_inbox` does; None before it began. Raises as `read` does."""
        loaded = await self.read(run)
        return loaded.kind.run_state(await self.with_inbox(run, loaded))

    async def rows(self, which: RunFilter) -> list[tuple[RunRow, str]]:
        """Return the status rows that match, each with its status for people, who see their own messages at once.

        Those of runs that are steps are left out. Only runs that wait with unread messages are read. One whose
        questions have all been answered does not wait any more; where another question is open, the row names that one.
        A run that cannot be read, such as one of an unknown kind, has the status of its row.
        """
        rows, hosted = [], dict[tuple[str, int], bool]()
        for row in await self.journal.runs(which):
            common = None
            if row.unread and row.summary.status == "waiting":
                try:
                    common = await self.common_with_inbox(row.run)
                except (JournalDamaged, KindUnknown, UsageProblem):
                    common = None
            kind = row.kind, row.format
            if kind not in hosted:
                hosted[kind] = await self.hosted(*kind)
            status = status_of(row, hosted=hosted[kind], with_inbox=common)
            if which.status in (None, status) and not is_child(row.run):
                rows.append((row if common is None else row_after(row, common), status))
        return rows

    async def answer(self, question: str, text: str) -> Heard:
        """Post an answer to the question `RUN/ID`; it is in the journal when this returns.

        The same answer again is a `duplicate`, another one a `conflict` that says which counts. Raises `RunNotFound`,
        `KindUnknown`, and `UsageProblem` for an unknown or closed question or an answer that does not fit.
        """
        return await self._post(question, partial(inbox.post_answer, text=text))

    async def decline(self, question: str) -> Heard:
        """Post that a question will not be answered: the run goes on without. Raises as `answer` does."""
        return await self._post(question, inbox.post_decline)

    async def _post(self, question: str, post: Callable[..., Awaitable[Heard]]) -> Heard:
        run, name = inbox.split(question)
        await check_own(self, run, "questions RUN")
        return await self._and_wake(post(self.journal, await self.common_with_inbox(run), run, name))

    async def tell(self, run: str, text: str, kind: str = "note") -> Posted:
        """Post a note, which later prompts show, or a requirement, which changes what is asked for.

        Raises `RunNotFound`, `KindUnknown`, and `UsageProblem` for an empty or too long text and for a run that has
        finished or is a step of another.
        """
        await check_own(self, run, "tell RUN TEXT")
        common = await self.common_with_inbox(run)
        return await self._and_wake(inbox.post_message(self.journal, common, run, text, kind))

    async def cancel(self, run: str) -> Posted:
        """Post the message that cancels a run. A run that nobody drives is cancelled when it is driven next.

        Raises `RunNotFound`, and `UsageProblem` for a run that is a step of another, or that never began.
        """
        await check_own(self, run, "cancel RUN")
        if (await self.journal.row(run)).last_seq == 0:
            raise inbox.not_started(run)
        return await self.post_cancel(run)

    async def post_cancel(self, run: str) -> Posted:
        """Post the message that cancels a run, also one that is a step of another."""
        await self.journal.row(run)
        return await self._and_wake(inbox.post_cancel(self.journal, run))

    async def _and_wake(self, posting: Awaitable[P]) -> P:
        """Wait for a message to be posted, and wake the hosts: a run that waits for it goes on at once."""
        posted = await posting
        self.wakeup.wake()
        return posted

    async def finish_cancelled(self, run: str) -> RunResult:
        """Cancel a run that nobody drives: post the message if it is not there yet, and record the end.

        No model is called, and no tool; what is left of a killed driver's tools is ended. A run that has finished is
        left as it is. Raises `Held`, `JournalDamaged`, `KindUnknown`, and as `cancel` does.
        """
        await check_own(self, run, "cancel RUN")
        return await self.end_cancelled(run)

    async def end_cancelled(self, run: str) -> RunResult:
        """Do as `finish_cancelled`, also for a run that is a step of another."""
        loaded = await self.read(run)
        if not loaded.started or loaded.finished:
            await cancel_children(self, loaded.kind, run, loaded.state)
            return await self.result(run)
        await self.post_cancel(run)
        common = loaded.kind.run_state(loaded.state)
        calls = () if common is None else [tool.request for tool in common.tools.values()]
        actors = ending_actors(calls, self.clock.now)
        supervisor = self.supervisor(run, loaded.kind, actors, DETACHED, snapshot=loaded.snapshot)
        ending = await supervisor.drive()
        await cancel_children(self, loaded.kind, run, supervisor.state)
        return self.view(run, loaded.kind, supervisor.state, str(ending))

    @asynccontextmanager
    async def model(self, name: str | None, used: Mapping[str, int]) -> AsyncIterator[Any]:
        """Open the model of a run; None for none. `used` counts the replies that the run has had, by purpose."""
        if name is None:
            yield None
            return
        opening = open_model(
            name, journal=self.journal, environment=self.environment, root=self.root, clock=self.clock, used=used
        )
        if self.models is not None and is_stateless(name):
            yield await self.models.get(name, opening)
            return
        async with opening as model:
            yield model

    async def _drive(
        self,
        run: str,
        kind: AnyKind,
        state: Any,
        options: DriveOptions,
        *,
        model: Any,
        first: Any = None,
        snapshot: Snapshot[Any] | None = None,
        admission: Admission | None = None,
    ) -> RunResult:
        watched = model if options.heard is None or model is None else WatchedModel(model, options.heard)
        async with self.actors(kind, state, watched, options) as actors:
            supervisor = self.supervisor(run, kind, actors, options, snapshot=snapshot, admission=admission)
            ending = await supervisor.drive(first)
        await cancel_children(self, kind, run, supervisor.state)
        return self.view(run, kind, supervisor.state, str(ending))

    @asynccontextmanager
    async def actors(
        self, kind: AnyKind, state: Any, model: Any, options: DriveOptions
    ) -> AsyncIterator[list[Actor[Any, Any]]]:
        """Open the actors of a begun run, for the length of a block."""
        opened = kind.actors(state, self._resources(kind.model(state), model, options))
        if isinstance(opened, AbstractAsyncContextManager):
            async with opened as actors:
                yield list(actors)
        else:
            yield list(opened)

    def _resources(self, model_name: str | None, model: Any, options: DriveOptions) -> Resources:
        async def drive(child: ChildRun) -> Any:
            return await drive_child(self, child, (model_name, model), DriveOptions(stop=options.stop))

        provider = None if model_name is None else provider_of(model_name, self.environment)
        return Resources(
            model=model,
            clock=self.clock,
            drive_child=drive,
            registry=self.registry,
            root=self.root,
            environment=self.environment,
            threads=self.threads,
            slot=nullcontext if provider is None else self.limiter.for_run(provider),
        )

    def supervisor(
        self,
        run: str,
        kind: AnyKind,
        actors: list[Actor[Any, Any]],
        options: DriveOptions,
        *,
        snapshot: Snapshot[Any] | None = None,
        admission: Admission | None = None,
    ) -> Supervisor[Any, Any, Any]:
        """Return a supervisor of a run, ready to drive it.

        With a snapshot it reads only the records after it; with an admission it admits the run.
        """
        return Supervisor(
            run,
            machine=kind.machine,
            journal=self.journal,
            actors=actors,
            lease=self.lease(),
            stop=options.stop,
            on_record=options.on_record,
            trace=kind.log_fields,
            notice=options.notice,
            changed=options.changed,
            rest_after=options.rest_after,
            snapshot=snapshot,
            admission=admission,
        )

    def lease(self) -> LeaseTerms:
        """Return the terms that this process holds runs on."""
        return LeaseTerms(owner=identity(), dead=is_dead)
