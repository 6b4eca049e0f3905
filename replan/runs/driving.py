"""Opens the models, the actors and the supervisor of a run. Drives child runs.

Returns the result of each run that was driven.
"""

import json
import os
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import trio

from actors.handlers.generators import Registry
from actors.handlers.tools import ending_actors
from actors.run.ids import parent_of
from actors.run.kind import ChildRun, Resources, no_limit
from actors.run.near_limit import WARN_AT, LimitNear
from actors.run.result import RunResult
from actors.run.state import RunState
from actors.run.waits import Started, WaitRequested
from replan.runs.inbox import RunPoster
from replan.runs.loaded import AnyKind, Loaded, start_state
from replan.runs.models import (
    RoutedModel,
    Shared,
    check_servers,
    is_stateless,
    open_model,
    provider_of,
    rate_limiter_of,
    servers_of,
)
from replan.runs.reader import RunReader, status_at_rest
from replan.setup.home_folder import locate_home
from replan.setup.installation import data_root
from replan.setup.kinds import Kinds
from replan.setup.provider_table import read_refusals
from replan.setup.settings import UserConfig
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import Halted, Held, JournalError, KindUnknown, RunExists, RunNotFound, root_cause
from runtime.core.events import Record, text_hash
from runtime.drive.actor import Actor
from runtime.drive.options import DETACHED, Admission, DriveOptions, Ending, LeaseTerms, Turns
from runtime.drive.run_log import Snapshot
from runtime.drive.supervisor import Supervisor
from runtime.host.wakeup import NoWakeUp, WakeUp
from runtime.journal.port import ORDINARY, Journal, Placement
from runtime.logs import log
from runtime.models.port import Fault
from runtime.models.provider_state import Askable, CallLimiter, Probes
from runtime.models.servers import Servers
from runtime.models.watched import LiveReplies, WatchedModel
from runtime.process.identity import identity, is_dead

FRESH_SECONDS = 900.0
"""A probe asks a model's provider whether it works again. For so many seconds, the answer counts for all runs that wait
for this provider."""


@dataclass(frozen=True)
class Opener(RunPoster):
    """Opens the models, the actors and the supervisor of each run of one journal."""

    journal: Journal[Any]
    """The journal, opened with `kinds.codecs`."""
    registry: Registry = field(default_factory=Registry)
    """The guards and generators that the workflows of runs may name."""
    clock: Clock = field(default_factory=SystemClock)
    """The clock of this process, for the times of runs and calls. Leases and daily budgets use the journal's clock."""
    root: Path = field(default_factory=data_root)
    """The folder of the shipped `configs/` and `prompts/`."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """The environment variables, which include keys and addresses of servers."""
    kinds: Kinds = field(default_factory=Kinds)
    threads: bool = True
    limiter: CallLimiter = field(default_factory=CallLimiter)
    """Limits the number of calls in flight to each provider, and the number of calls in flight of each run."""
    servers: Servers = field(default_factory=lambda: Servers(refusals=read_refusals(data_root())))
    """What the home knows about the servers of models, such as rate limits and refused parameters."""
    wakeup: WakeUp = field(default_factory=NoWakeUp)
    config: UserConfig = field(default_factory=UserConfig)
    probes: Probes = field(default_factory=Probes)
    """Probes whether providers that runs wait for are up again."""
    lease_seconds: float | None = None
    """The length of leases in seconds; None for the default."""
    placement: Placement = ORDINARY
    by: str = ""
    """Who starts new runs, such as `cli`. New runs record this text in the field `by` of `actors.run.waits.Started`."""
    asks: bool = False
    """Whether somebody can answer the questions of new runs. If so, a new run that reaches a limit asks a question by
    default.
    """
    turns: Turns | None = None
    """Decides which run of a host makes the next model call; None if the runs do not take turns."""
    models: Shared | None = None
    """The models that runs share; None if each run opens its own model."""
    replies: LiveReplies = field(default_factory=LiveReplies)
    """The replies in progress, of all runs that this process drives."""
    cache: RunReader | None = None
    """A reader that caches recently read runs; None if each run is read from the journal every time."""

    async def read(self, run: str) -> Loaded:
        """Return a run's kind, state and records. Raises the errors of `RunReader.read`."""
        return await (super().read(run) if self.cache is None else self.cache.read(run))

    @asynccontextmanager
    async def open_supervisor(
        self,
        run: str,
        kind: AnyKind,
        state: Any,
        options: DriveOptions,
        *,
        used: Mapping[str, int],
        snapshot: Snapshot[Any] | None = None,
        admission: Admission | None = None,
    ) -> AsyncIterator[Supervisor[Any, Any, Any]]:
        """Open the models and the actors of a run that has begun, and yield its supervisor.

        The models and the actors are closed after the block.

        `used` has the number of the run's replies so far, by purpose. The other arguments are the same as for
        `supervisor`.
        """
        async with (
            self.models_of(kind, state, used) as model,
            self.actors(kind, state, self.watch_model(model), options) as actors,
        ):
            yield self.supervisor(run, kind, actors, options, snapshot=snapshot, admission=admission)

    @asynccontextmanager
    async def models_of(self, kind: AnyKind, state: Any, used: Mapping[str, int]) -> AsyncIterator[Any]:
        """Open the models of a run and its steps, and yield them as one model; None if the run has no model.

        Raises `UsageProblem` if a model cannot be opened, or if its server is not the same as before.
        """
        async with AsyncExitStack() as stack:
            names, common = dict.fromkeys(kind.step_models(state).values()), kind.run_state(state)
            if common is not None:
                check_servers(common.run_id, _models(kind, state), common.servers, self.environment)
            own = await stack.enter_async_context(self.model(kind.model(state), used))
            others = {name: await stack.enter_async_context(self.model(name, used)) for name in names}
            yield RoutedModel(own, others) if others else own

    def record_servers(self, kind: AnyKind, first: Started) -> Started:
        """Add the addresses of the models' servers to the first event of a run, and return the event."""
        servers = servers_of(_models(kind, start_state(kind, first)), self.environment)
        return first.model_copy(update={"servers": servers}) if servers else first

    @asynccontextmanager
    async def model(self, name: str | None, used: Mapping[str, int]) -> AsyncIterator[Any]:
        """Open the model `name`, and yield it. If `name` is None, yield None.

        `used` has the number of the run's replies so far, by purpose.
        """
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
        """Wrap an open model so that `replies` shows its replies in progress. If `model` is None, return None."""
        return model if model is None or isinstance(model, WatchedModel) else WatchedModel(model, self.replies)

    @asynccontextmanager
    async def actors(
        self, kind: AnyKind, state: Any, model: Any, options: DriveOptions
    ) -> AsyncIterator[list[Actor[Any, Any]]]:
        """Open the actors of a run that has begun, and yield them. They are closed after the block."""
        resources = self.resources(kind.model(state), model, options, others=[*kind.step_models(state).values()])
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
        """Return a supervisor that can drive a run.

        With a snapshot, the supervisor reads only the records after the snapshot. With an admission, the supervisor
        first enters the new run in the journal.
        """
        return Supervisor(
            run,
            machine=kind.machine,
            journal=self.journal,
            actors=actors,
            lease=self.lease(),
            options=options,
            trace=kind.log_fields,
            snapshot=snapshot,
            admission=admission,
            tells_day=True,
        )

    def lease(self) -> LeaseTerms:
        """Return the owner and the length of this process's leases."""
        terms = LeaseTerms(owner=identity(), dead=is_dead)
        return terms if self.lease_seconds is None else replace(terms, ttl=self.lease_seconds)

    def resources(
        self, model_name: str | None, model: Any, options: DriveOptions, *, others: Sequence[str] = ()
    ) -> Resources:
        """Return what the actors of a run need, such as the clock, the open model and the limits of calls.

        `model` is an open model, and `model_name` is its name in the form of `--model`. Both are None for a run without
        a model. `others` has the names of the models of the run's steps.
        """
        plain_model: Any = model.model if isinstance(model, WatchedModel) else model
        plain_model = plain_model.probed_model if isinstance(plain_model, RoutedModel) else plain_model
        names = () if model_name is None else (model_name, *others)
        providers = {name: provider_of(name, self.environment) for name in names}
        provider = next(filter(None, providers.values()), None)
        of_models = {name: asked for name in others if (asked := providers.get(name)) is not None}
        limiters = {name: rate_limiter_of(name, self.environment, self.servers) for name in names}

        def turn(model: str = "", /) -> AbstractAsyncContextManager[Any]:
            limiter = limiters.get(model or names[0])
            return nullcontext() if limiter is None else limiter.turn(self.clock)

        async def drive(child: ChildRun) -> Any:
            child_options = DriveOptions(stop=options.stop, at_once=options.at_once)
            return await self.drive_child(child, (names, model), child_options)

        async def probe(wait: WaitRequested) -> Fault | None:
            # Runs that wait without a process are woken one by one. The first answer also counts for all others.
            fresh = FRESH_SECONDS if wait.node is None and not options.at_once else 0.0
            name = f"{provider} {model_name}"
            return await self.probes.ask(name, plain_model, wait.fault, fresh=fresh, clock=self.clock)

        return Resources(
            model=model,
            clock=self.clock,
            drive_child=drive,
            registry=self.registry,
            root=self.root,
            environment=self.environment,
            home=locate_home(self.environment).folder,
            threads=self.threads,
            probe=probe if isinstance(plain_model, Askable) else None,
            slot=no_limit if provider is None else self.limiter.for_run(provider, of_models, turn),
        )

    @abstractmethod
    async def drive_child(
        self, child: ChildRun, parent_model: tuple[Sequence[str], Any], options: DriveOptions
    ) -> Any | None:
        """Drive a child run of a run that this process drives (`actors.run.kind.DriveChild`).

        `parent_model` has the names of the parent run's models, and the open model. If the child run has the same
        models as its parent run, it uses the parent run's open model.
        """


def _models(kind: AnyKind, state: Any) -> list[str]:
    own = kind.model(state)
    return list(dict.fromkeys([*([] if own is None else [own]), *kind.step_models(state).values()]))


HELD_SECONDS = 0.5
"""The seconds between two tries to claim a child run that another process drives."""


@dataclass(frozen=True)
class Driver(Opener):
    """Drives child runs. Returns the result of each run that was driven."""

    async def conclude(
        self, run: str, kind: AnyKind, state: Any, ending: Ending, options: DriveOptions
    ) -> RunResult | None:
        """Return the result of a run after it was driven. If the end of the run is final, end its child runs too.

        Return None if the run must be driven again at once, with a new model or a new guard after a change.
        """
        run_state = kind.run_state(state)
        stopped = options.stop is not None and options.stop.requested.is_set()
        must_reopen = run_state is not None and run_state.renewing
        if ending is Ending.PARKED and must_reopen and not stopped:
            return None
        await self.cancel_children(kind, run, state)
        return self.view(run, kind, state, status_at_rest(kind, state, ending))

    async def end_cancelled(self, run: str) -> RunResult:
        """Cancel a run or a child run that no process drives. Do this in the same way as `finish_cancelled`."""
        loaded = await self.read(run)
        if not loaded.started or loaded.finished:
            await self.cancel_children(loaded.kind, run, loaded.state)
            return await self.result(run)
        await self.post_cancel(run)
        common = loaded.kind.run_state(loaded.state)
        calls = () if common is None else [tool.request for tool in common.tools.values()]
        actors = ending_actors(calls, self.clock.now)
        supervisor = self.supervisor(run, loaded.kind, actors, DETACHED, snapshot=loaded.snapshot)
        ending = await supervisor.drive()
        await self.cancel_children(loaded.kind, run, supervisor.state)
        return self.view(run, loaded.kind, supervisor.state, status_at_rest(loaded.kind, supervisor.state, ending))

    async def drive_child(
        self, child: ChildRun, parent_model: tuple[Sequence[str], Any], options: DriveOptions
    ) -> Any | None:
        """Drive a child run.

        If another process begins the child run at the same time, try again.
        """
        while True:
            try:
                return await self._drive_child_once(child, parent_model, options)
            except RunExists:
                continue

    async def _drive_child_once(
        self, child: ChildRun, parent_model: tuple[Sequence[str], Any], options: DriveOptions
    ) -> Any | None:
        """Resume the child run, or begin it if it does not exist.

        Raises `RunExists` if another process begins it first.
        """
        admission = None
        try:
            loaded = await self.read(child.run)
        except RunNotFound:
            kind = self.kinds.named(child.kind)
            placement = (await self.journal.row(parent_of(child.run))).placement
            admission = Admission(child.title, kind.name, kind.format, placement)
            loaded = Loaded(kind, kind.machine.initial(), [])
        common = loaded.kind.run_state(loaded.state)
        if (
            common is not None
            and common.finished is not None
            and not _is_driven_again(common, child, at_once=options.at_once)
        ):
            return loaded.state
        if child.change and loaded.started:
            body = json.dumps(dict(child.change))
            await self.journal.post(child.run, f"change:{text_hash(body)[:16]}", body)
            loaded = replace(loaded, state=await self.with_inbox(child.run, loaded))
        first = None
        if not loaded.started:
            first = self.record_servers(loaded.kind, child.first(self.clock.now()))
            first = first.model_copy(update={"warn_at": WARN_AT})
        state = loaded.state if first is None else start_state(loaded.kind, first)
        drive = partial(
            self._drive_opened_child, child, loaded, state=state, options=options, first=first, admission=admission
        )
        parent_names, opened = parent_model
        name, others = loaded.kind.model(state), loaded.kind.step_models(state)
        if [name] == [*parent_names[:1]] and {*others.values()} <= {*parent_names[1:]}:
            return await drive(model=opened)
        async with self.models_of(loaded.kind, state, loaded.replies) as model:
            return await drive(model=model)

    async def _drive_opened_child(
        self,
        child: ChildRun,
        loaded: Loaded,
        *,
        state: Any,
        options: DriveOptions,
        model: Any,
        first: Any,
        admission: Admission | None,
    ) -> Any | None:
        run, kind = child.run, loaded.kind
        async with self.actors(kind, state, self.watch_model(model), options) as actors, _telling(child) as on_record:
            options = replace(options, on_record=on_record)
            supervisor = self.supervisor(run, kind, actors, options, snapshot=loaded.snapshot, admission=admission)
            ending = None
            while ending is None:
                try:
                    ending = await supervisor.drive(first)
                except Held:  # For a moment: by a `cancel`, or by a killed driver whose lease has not run out.
                    await trio.sleep(HELD_SECONDS)
        await self.cancel_children(kind, run, supervisor.state)
        common = kind.run_state(supervisor.state)
        if common is not None and common.parked_cause:
            raise Halted(common.parked_cause, f"run {run}: {common.parked_reason}")
        waits = common is not None and common.outage is not None and not common.parked
        return supervisor.state if ending is Ending.FINISHED or waits else None

    async def cancel_children(self, kind: AnyKind, run: str, state: Any) -> None:
        """If the end of a run is final, end its child runs.

        If the journal cannot be used now, the error is only logged. The next `resume` of the run ends the remaining
        child runs.
        """
        common = kind.run_state(state)
        if common is None or common.finished is None or not (common.over and common.finished.final):
            return
        try:
            for child in kind.children(state):
                with suppress(RunNotFound, Held, KindUnknown):  # A driver that holds one finds its parent finished.
                    await self.end_cancelled(child)
        except JournalError as error:
            if not error.passing:
                raise
            log.get_logger("run").warning("children.kept", run_id=run, reason=str(error))


@asynccontextmanager
async def _telling(child: ChildRun) -> AsyncIterator[Callable[[Record[Any], Any], None]]:
    """Yield a function to call with each record of a child run.

    The function sends warnings about limits to the parent run.
    """
    try:
        async with trio.open_nursery() as nursery:

            def on_record(record: Record[Any], state: Any) -> None:
                del state
                if isinstance(record.event, LimitNear):
                    nursery.start_soon(child.tell, record.event)

            yield on_record
    except BaseExceptionGroup as group:
        raise root_cause(group) from group


def _is_driven_again(common: RunState[Any], child: ChildRun, *, at_once: bool) -> bool:
    """Return whether a child run that has finished must be driven again.

    This is so if a person resumes the parent run (`at_once`) after the child run has failed. It is also so if the child
    run has ended at its deadline, and the parent run has a new deadline.
    """
    end, ends_at = common.finished, common.ledger.ends_at
    if end is None or end.reopened_by == "resume":
        return at_once and end is not None and end.cause != "home_budget"
    is_past = common.ledger.ended_by(common.now) is not None
    return end.reopened_by == "limits" and is_past and child.change.get("deadline", ends_at) != ends_at
