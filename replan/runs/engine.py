"""The engine: starts, resumes and cancels the runs of one journal, whatever their kinds. Drives child runs too."""

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import trio

from actors.handlers.registry import Registry
from actors.handlers.tools import ending_actors
from actors.run.ids import parent_of
from actors.run.kind import ChildRun, PreparedRun, Resources, no_limit
from actors.run.reminder_events import ReminderRule
from actors.run.result import RunResult
from actors.run.state import RunState
from actors.run.waits import WaitRequested
from replan.runs import inbox
from replan.runs.cached import CachedReader
from replan.runs.families import check_own
from replan.runs.inbox import RunPoster
from replan.runs.loaded import AnyKind, Loaded, start_state
from replan.runs.models import RoutedModel, Shared, is_stateless, open_model, provider_of
from replan.runs.run_ids import new_run_id
from replan.runs.status import goes_on, status_at_rest
from replan.setup.home_folder import locate_home
from replan.setup.installation import data_root
from replan.setup.kinds import Kinds
from replan.setup.notifications import Answering, SenderEntry, WebhookEntry
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import Halted, Held, JournalError, KindUnknown, RunExists, RunNotFound, UsageProblem
from runtime.core.events import text_hash
from runtime.drive.actor import Actor
from runtime.drive.options import DETACHED, Admission, DriveOptions, Ending, LeaseTerms
from runtime.drive.run_log import Snapshot, admit
from runtime.drive.supervisor import Supervisor
from runtime.host.wakeup import NoWakeUp, WakeUp
from runtime.journal.port import ORDINARY, Journal, Placement
from runtime.logs import log
from runtime.models.port import Fault
from runtime.models.provider_state import Askable, CallLimiter, Probes
from runtime.models.servers import Servers
from runtime.models.watched import LiveReplies, WatchedModel
from runtime.process.identity import identity, is_dead

P = TypeVar("P")


@dataclass(frozen=True)
class Engine(RunPoster):
    """Starts, resumes and cancels the runs of one journal, and holds everything that driving them needs."""

    journal: Journal[Any]
    """The journal, opened with `kinds.codecs`."""
    registry: Registry = field(default_factory=Registry)
    """The guards and generators that runs may name."""
    clock: Clock = field(default_factory=SystemClock)
    """The clock of this process, for the begin of runs and their calls. Leases and days use the journal's clock."""
    root: Path = field(default_factory=data_root)
    """The folder of the shipped `configs/` and `prompts/`."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """The environment that names keys and servers."""
    kinds: Kinds = field(default_factory=Kinds)
    """The kinds of runs that this process can drive."""
    threads: bool = True
    """Whether slow guards run in threads; False in simulations."""
    limiter: CallLimiter = field(default_factory=CallLimiter)
    """Limits the calls in flight to each provider and for each run."""
    servers: Servers = field(default_factory=Servers)
    """What the home knows about the servers of its models."""
    wakeup: WakeUp = field(default_factory=NoWakeUp)
    """Wakes the hosts of the home."""
    webhooks: Mapping[str, WebhookEntry] = field(default_factory=dict)
    """The addresses that a host posts signed messages to, by name."""
    senders: Mapping[str, SenderEntry] = field(default_factory=dict)
    """The senders of installed distributions that a host gives messages to, by name."""
    answering: Answering | None = None
    """The people who get links that answer questions; None for nobody."""
    reminders: tuple[ReminderRule, ...] = ()
    """The rules of reminders about unanswered questions of new runs."""
    probes: Probes = field(default_factory=Probes)
    """Asks providers that runs wait for whether they are up again."""
    lease_seconds: float | None = None
    """The length of leases in seconds; None for the default."""
    placement: Placement = ORDINARY
    """The tenant and the priority of new runs."""
    by: str = ""
    """Who starts new runs: the field `by` of `actors.run.waits.Started`."""
    models: Shared | None = None
    """The models that runs share; None opens one for each run."""
    replies: LiveReplies = field(default_factory=LiveReplies)
    """The replies in progress of the runs that this process drives."""
    cache: CachedReader | None = None
    """Keeps the runs that a server has read recently; None reads a run from the journal each time."""

    async def read(self, run: str) -> Loaded:
        """Return a run's kind, state and records. Raises the errors of `RunReader.read`."""
        return await (super().read(run) if self.cache is None else self.cache.read(run))

    async def admit(self, prepared: PreparedRun, *, run: str | None = None) -> str:
        """Record the start of a new run, for a host to drive, and wake the hosts; return its id.

        The run is durable when this returns. Raises `RunExists`.
        """
        name, kind = run or new_run_id(), self.kinds.named(prepared.kind)
        first = self._first(prepared, name)
        admission = Admission(prepared.title, kind.name, kind.format, self.placement)
        await admit(kind.machine, self.journal, name, admission, first)
        self.wakeup.wake()
        return name

    async def begin(
        self, prepared: PreparedRun, options: DriveOptions = DETACHED, *, run: str | None = None
    ) -> RunResult:
        """Start a new run and drive it until it ends, asks or is stopped.

        The run is admitted in the transaction of its first records. Raises the errors of `admit`.
        """
        name, kind = run or new_run_id(), self.kinds.named(prepared.kind)
        first = self._first(prepared, name)
        state = start_state(kind, first)
        async with self.models_of(kind, state, {}) as model:
            admission = Admission(prepared.title, kind.name, kind.format, self.placement)
            result = await self._drive(name, kind, state, options, model=model, first_event=first, admission=admission)
        return await self.resume(name, options) if result is None else result

    async def resume(self, run: str, options: DriveOptions = DETACHED) -> RunResult:
        """Resume a run after the last record in its journal. If it has finished for good, return its result.

        If a person resumes a run whose end is not final, the end is undone (docs/explanation/endings.md). A host never
        does that.

        Raises `RunNotFound`, `KindUnknown`, `Held`, `JournalDamaged`. Raises `UsageProblem` for a run that never began,
        is a step of another run, or needs a missing plug-in.
        """
        await check_own(self, run, "resume RUN")
        loaded = await self.read(run)
        if not loaded.started:
            raise inbox.not_started(run)
        # What was posted counts already: it may name another model, or be the reason why the run goes on.
        kind, state = loaded.kind, await self.with_inbox(run, loaded)
        by_person = options.rest_after is None
        if loaded.finished and not (by_person and goes_on(kind.run_state(state))):
            await cancel_children(self, kind, run, loaded.state)
            return self.view(run, kind, loaded.state, "finished")
        options = replace(options, at_once=by_person)
        missing = kind.missing(state, self.registry)
        if missing:
            hint = (
                "install it, or pass it as the run's start did (--plugins FILE.py), and resume again; nothing is lost"
            )
            raise UsageProblem(f"this run needs the plug-in {' and '.join(missing)}", place=run, hint=hint)
        if options.on_drift is not None:
            text = kind.drift(loaded.records[0].event, state, resources_for(self, None, None, options))
            if text:
                options.on_drift(text)
        async with self.models_of(kind, state, loaded.replies) as model:
            result = await self._drive(run, kind, state, options, model=model, snapshot=loaded.snapshot)
        return await self.resume(run, options) if result is None else result

    def _first(self, prepared: PreparedRun, run: str) -> Any:
        """Return the first event of a new run, with its starter and its reminders."""
        first = prepared.first(run, self.clock.now())
        if self.reminders:
            first = first.model_copy(update={"reminders": self.reminders})
        return first.model_copy(update={"by": self.by}) if self.by else first

    async def finish_cancelled(self, run: str) -> RunResult:
        """Cancel a run that nobody drives: post the message if it is not there yet, and record the end.

        No model is called, and no tool. Tool processes that a killed driver has left are ended. A run that has finished
        stays as it is. Raises `Held`, `JournalDamaged`, `KindUnknown`, and the errors of `cancel`.
        """
        await check_own(self, run, "cancel RUN")
        return await self.end_cancelled(run)

    async def end_cancelled(self, run: str) -> RunResult:
        """Cancel a run that nobody drives, like `finish_cancelled`; the run may be a step of another."""
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
        return self.view(run, loaded.kind, supervisor.state, status_at_rest(loaded.kind, supervisor.state, ending))

    @asynccontextmanager
    async def models_of(self, kind: AnyKind, state: Any, used: Mapping[str, int]) -> AsyncIterator[Any]:
        """Open the model of a begun run and those that its steps name, and yield them as one model; None for none."""
        async with AsyncExitStack() as stack:
            own = await stack.enter_async_context(self.model(kind.model(state), used))
            names = dict.fromkeys(kind.step_models(state).values())
            others = {name: await stack.enter_async_context(self.model(name, used)) for name in names}
            yield RoutedModel(own, others) if others else own

    @asynccontextmanager
    async def model(self, name: str | None, used: Mapping[str, int]) -> AsyncIterator[Any]:
        """Open a model by its name; None yields None. `used` counts the replies that the run has had, by purpose."""
        if name is None:
            yield None
            return
        opening = open_model(
            name,
            journal=self.journal,
            environment=self.environment,
            root=self.root,
            clock=self.clock,
            used=used,
            kinds=self.kinds,
            servers=self.servers,
        )
        if self.models is not None and is_stateless(name):
            yield await self.models.get(name, opening)
            return
        async with opening as model:
            yield model

    def watch_model(self, model: Any) -> Any:
        """Wrap an open model so that it publishes its replies in progress to `replies`; None stays None."""
        return model if model is None or isinstance(model, WatchedModel) else WatchedModel(model, self.replies)

    async def _drive(
        self,
        run: str,
        kind: AnyKind,
        state: Any,
        options: DriveOptions,
        *,
        model: Any,
        first_event: Any = None,
        snapshot: Snapshot[Any] | None = None,
        admission: Admission | None = None,
    ) -> RunResult | None:
        """Drive a run. Return None if it was parked to open its model or a guard again, because that was changed."""
        async with self.actors(kind, state, self.watch_model(model), options) as actors:
            supervisor = self.supervisor(run, kind, actors, options, snapshot=snapshot, admission=admission)
            ending = await supervisor.drive(first_event)
        run_state = kind.run_state(supervisor.state)
        stopped = options.stop is not None and options.stop.requested.is_set()
        must_reopen = run_state is not None and run_state.renewing
        if ending is Ending.PARKED and must_reopen and not stopped:
            return None
        await cancel_children(self, kind, run, supervisor.state)
        return self.view(run, kind, supervisor.state, status_at_rest(kind, supervisor.state, ending))

    @asynccontextmanager
    async def actors(
        self, kind: AnyKind, state: Any, model: Any, options: DriveOptions
    ) -> AsyncIterator[list[Actor[Any, Any]]]:
        """Open the actors of a begun run, for the length of a block."""
        resources = resources_for(self, kind.model(state), model, options, others=[*kind.step_models(state).values()])
        actors_or_context = kind.actors(state, resources)
        if isinstance(actors_or_context, AbstractAsyncContextManager):
            async with actors_or_context as actors:
                yield list(actors)
        else:
            yield list(actors_or_context)

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

        With a snapshot, it reads only the records after the snapshot. With an admission, it admits the run.
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
            at_once=options.at_once,
            snapshot=snapshot,
            admission=admission,
        )

    def lease(self) -> LeaseTerms:
        """Return the terms of the leases of this process."""
        terms = LeaseTerms(owner=identity(), dead=is_dead)
        return terms if self.lease_seconds is None else replace(terms, ttl=self.lease_seconds)


FRESH_SECONDS = 900.0
"""The seconds for which "the provider is down" also counts for other waiting runs."""


def resources_for(
    engine: Engine, model_name: str | None, model: Any, options: DriveOptions, *, others: Sequence[str] = ()
) -> Resources:
    """Return the resources of a run. `model` is open; `model_name` names it in the form of `--model`.

    Both are None for a run without a model. `others` are the names of the models that its steps name; these are open
    too.
    """
    plain_model: Any = model.model if isinstance(model, WatchedModel) else model
    plain_model = plain_model.probed_model if isinstance(plain_model, RoutedModel) else plain_model
    names = () if model_name is None else (model_name, *others)
    providers = {name: provider_of(name, engine.environment) for name in names}
    provider = next(filter(None, providers.values()), None)
    of_models = {name: asked for name in others if (asked := providers.get(name)) is not None}

    async def drive(child: ChildRun) -> Any:
        child_options = DriveOptions(stop=options.stop, at_once=options.at_once)
        return await drive_child(engine, child, (names, model), child_options)

    async def probe(wait: WaitRequested) -> Fault | None:
        # Runs that wait without a process are woken one after the other; the first answer counts for the others too.
        fresh = FRESH_SECONDS if wait.node is None and not options.at_once else 0.0
        name = f"{provider} {model_name}"
        return await engine.probes.ask(name, plain_model, wait.fault, fresh=fresh, clock=engine.clock)

    return Resources(
        model=model,
        clock=engine.clock,
        drive_child=drive,
        registry=engine.registry,
        root=engine.root,
        environment=engine.environment,
        home=locate_home(engine.environment).folder,
        threads=engine.threads,
        probe=probe if isinstance(plain_model, Askable) else None,
        slot=no_limit if provider is None else engine.limiter.for_run(provider, of_models),
    )


HELD_SECONDS = 0.5
"""How long a run waits before it tries again to claim a child run that another driver holds, in seconds."""


async def drive_child(
    engine: Engine, child: ChildRun, parent_model: tuple[Sequence[str], Any], options: DriveOptions
) -> Any | None:
    """Drive a child run. This is the engine's `actors.run.kind.DriveChild`.

    `parent_model` has the names of the parent's models, and the open model. A child whose models have the same names
    uses it.
    """
    while True:
        try:
            return await _drive_child_once(engine, child, parent_model, options)
        except RunExists:
            continue  # An earlier driver of the parent has begun the child meanwhile.


async def _drive_child_once(
    engine: Engine, child: ChildRun, parent_model: tuple[Sequence[str], Any], options: DriveOptions
) -> Any | None:
    """Resume the child run, or begin it if there is none. Raises `RunExists` if another driver begins it first."""
    admission = None
    try:
        loaded = await engine.read(child.run)
    except RunNotFound:
        kind = engine.kinds.named(child.kind)
        placement = (await engine.journal.row(parent_of(child.run))).placement
        admission = Admission(child.title, kind.name, kind.format, placement)
        loaded = Loaded(kind, kind.machine.initial(), [])
    common = loaded.kind.run_state(loaded.state)
    if common is not None and common.finished is not None and not _goes_on(common, child, at_once=options.at_once):
        return loaded.state
    if child.change and loaded.started:
        body = json.dumps(dict(child.change))
        await engine.journal.post(child.run, f"change:{text_hash(body)[:16]}", body)
        loaded = replace(loaded, state=await engine.with_inbox(child.run, loaded))
    first = None if loaded.started else child.first(engine.clock.now())
    state = loaded.state if first is None else start_state(loaded.kind, first)
    drive = partial(
        _drive_opened_child, engine, child.run, loaded, state=state, options=options, first=first, admission=admission
    )
    parent_names, opened = parent_model
    name, others = loaded.kind.model(state), loaded.kind.step_models(state)
    if [name] == [*parent_names[:1]] and {*others.values()} <= {*parent_names[1:]}:
        return await drive(model=opened)
    async with engine.models_of(loaded.kind, state, loaded.replies) as model:
        return await drive(model=model)


def _goes_on(common: RunState[Any], child: ChildRun, *, at_once: bool) -> bool:
    """Tell whether a finished child run is driven again: it has failed, or it has a new deadline.

    Child and parent end by the same deadline, in either order.
    """
    end, deadline = common.finished, common.ledger.limits.deadline
    if end is None or end.reopened_by == "resume":
        return at_once and end is not None and end.cause != "home_budget"
    is_past = deadline is not None and common.now >= deadline
    return end.reopened_by == "limits" and is_past and child.change.get("deadline", deadline) != deadline


async def _drive_opened_child(
    engine: Engine,
    run: str,
    loaded: Loaded,
    *,
    state: Any,
    options: DriveOptions,
    model: Any,
    first: Any,
    admission: Admission | None,
) -> Any | None:
    kind = loaded.kind
    async with engine.actors(kind, state, engine.watch_model(model), options) as actors:
        supervisor = engine.supervisor(run, kind, actors, options, snapshot=loaded.snapshot, admission=admission)
        ending = None
        while ending is None:
            try:
                ending = await supervisor.drive(first)
            except Held:  # For a moment: by a `cancel`, or by a killed driver whose lease has not run out.
                await trio.sleep(HELD_SECONDS)
    await cancel_children(engine, kind, run, supervisor.state)
    common = kind.run_state(supervisor.state)
    if common is not None and common.parked_cause:
        raise Halted(common.parked_cause, f"run {run}: {common.parked_reason}")
    waits = common is not None and common.outage is not None and not common.parked
    return supervisor.state if ending is Ending.FINISHED or waits else None


async def cancel_children(engine: Engine, kind: AnyKind, run: str, state: Any) -> None:
    """End the withdrawn children of a run whose end is final.

    If the journal fails for a while, the run has ended nevertheless, and its next `resume` ends the remaining children.
    """
    common = kind.run_state(state)
    if common is None or common.finished is None or not (common.over and common.finished.final):
        return
    try:
        for child in kind.children(state):
            with suppress(RunNotFound, Held, KindUnknown):  # A driver that holds one finds its parent finished.
                await engine.end_cancelled(child)
    except JournalError as error:
        if not error.passing:
            raise
        log.get_logger("run").warning("children.kept", run_id=run, reason=str(error))
