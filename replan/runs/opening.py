"""Opens the models, the actors and the supervisor of a run of any kind."""

import os
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from actors.handlers.registry import Registry
from actors.run.kind import ChildRun, Resources, no_limit
from actors.run.waits import WaitRequested
from replan.runs.inbox import RunPoster
from replan.runs.loaded import AnyKind, Loaded
from replan.runs.models import RoutedModel, Shared, is_stateless, open_model, provider_of, rate_limiter_of
from replan.runs.reader import RunReader
from replan.setup.home_folder import locate_home
from replan.setup.installation import data_root
from replan.setup.kinds import Kinds
from replan.setup.provider_table import read_refusals
from replan.setup.settings import UserConfig
from runtime.core.clock import Clock, SystemClock
from runtime.drive.actor import Actor
from runtime.drive.options import Admission, DriveOptions, LeaseTerms, Turns
from runtime.drive.run_log import Snapshot
from runtime.drive.supervisor import Supervisor
from runtime.host.wakeup import NoWakeUp, WakeUp
from runtime.journal.port import ORDINARY, Journal, Placement
from runtime.models.port import Fault
from runtime.models.provider_state import Askable, CallLimiter, Probes
from runtime.models.servers import Servers
from runtime.models.watched import LiveReplies, WatchedModel
from runtime.process.identity import identity, is_dead

FRESH_SECONDS = 900.0
"""How many seconds the answer "the provider is down" is valid for other waiting runs."""


@dataclass(frozen=True)
class Opener(RunPoster):
    """Has everything that is needed to drive the runs of one journal, and opens the parts of one run."""

    journal: Journal[Any]
    """The journal, opened with `kinds.codecs`."""
    registry: Registry = field(default_factory=Registry)
    """The guards and generators that runs may name."""
    clock: Clock = field(default_factory=SystemClock)
    """The clock of this process, for the start of runs and their calls. Leases and days use the journal's clock."""
    root: Path = field(default_factory=data_root)
    """The folder of the shipped `configs/` and `prompts/`."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """The environment variables with keys and addresses of servers."""
    kinds: Kinds = field(default_factory=Kinds)
    """The kinds of runs that this process can drive."""
    threads: bool = True
    """Whether slow guards run in threads; False in simulations."""
    limiter: CallLimiter = field(default_factory=CallLimiter)
    """Limits the calls in flight to each provider and for each run."""
    servers: Servers = field(default_factory=lambda: Servers(refusals=read_refusals(data_root())))
    """The knowledge of the home about the servers of its models."""
    wakeup: WakeUp = field(default_factory=NoWakeUp)
    """Wakes the hosts of the home."""
    config: UserConfig = field(default_factory=UserConfig)
    """The settings of the home."""
    probes: Probes = field(default_factory=Probes)
    """Asks providers that runs wait for whether they are up again."""
    lease_seconds: float | None = None
    """The length of leases in seconds; None for the default."""
    placement: Placement = ORDINARY
    """The tenant and the priority of new runs."""
    by: str = ""
    """Who starts new runs: the field `by` of `actors.run.waits.Started`."""
    asks: bool = False
    """Whether somebody can answer the questions of new runs. If so, they ask at a limit, unless set otherwise."""
    turns: Turns | None = None
    """Lets the runs that a host drives take turns with their model calls; None for no order."""
    models: Shared | None = None
    """The models that runs share; None opens one for each run."""
    replies: LiveReplies = field(default_factory=LiveReplies)
    """The replies in progress of the runs that this process drives."""
    cache: RunReader | None = None
    """Keeps the runs that a server has read recently; None reads a run from the journal each time."""

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
        """Open the models and the actors of a begun run, and yield its supervisor, for the length of a block.

        `used` counts the replies that the run has had, by purpose. The other arguments are those of `supervisor`.
        """
        async with (
            self.models_of(kind, state, used) as model,
            self.actors(kind, state, self.watch_model(model), options) as actors,
        ):
            yield self.supervisor(run, kind, actors, options, snapshot=snapshot, admission=admission)

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

    @asynccontextmanager
    async def actors(
        self, kind: AnyKind, state: Any, model: Any, options: DriveOptions
    ) -> AsyncIterator[list[Actor[Any, Any]]]:
        """Open the actors of a begun run, for the length of a block."""
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
            turn=options.turn,
        )

    def lease(self) -> LeaseTerms:
        """Return the terms of the leases of this process."""
        terms = LeaseTerms(owner=identity(), dead=is_dead)
        return terms if self.lease_seconds is None else replace(terms, ttl=self.lease_seconds)

    def resources(
        self, model_name: str | None, model: Any, options: DriveOptions, *, others: Sequence[str] = ()
    ) -> Resources:
        """Return the resources of a run. `model` is open; `model_name` names it in the form of `--model`.

        Both are None for a run without a model. `others` are the models that its steps name; these are open too.
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
            # Runs that wait without a process are woken one by one; the first answer counts for the others too.
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
        """Drive a child run of a run that is opened here; see `actors.run.kind.DriveChild`.

        `parent_model` has the names of the parent's models, and the open model. A child run with the same model uses
        it.
        """
