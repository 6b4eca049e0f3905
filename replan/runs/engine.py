"""The engine: starts, resumes, reads and cancels the runs of one journal, whatever their kinds."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from actors.handlers.registry import Registry
from actors.handlers.tools import ending_actors
from actors.run.kind import ChildRun, PreparedRun, Resources, no_limit
from actors.run.questions import Via
from actors.run.reminder_events import ReminderRule
from actors.run.result import RunResult
from actors.run.waits import WaitRequested
from replan.runs import inbox
from replan.runs.cached import CachedReader
from replan.runs.child_runs import cancel_children, drive_child
from replan.runs.families import check_own
from replan.runs.inbox import AnswerReceipt
from replan.runs.loaded import AnyKind, Loaded, started
from replan.runs.models import Shared, is_stateless, open_model, provider_of
from replan.runs.options import DETACHED, DriveOptions
from replan.runs.reader import RunReader
from replan.runs.run_ids import new_run_id
from replan.runs.status import goes_on, status_at_rest
from replan.setup.command_name import program
from replan.setup.data_files import data_root
from replan.setup.home_folder import locate_home
from replan.setup.kinds import Kinds
from replan.setup.people import Answering
from replan.setup.webhook import WebhookEntry
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import UsageProblem
from runtime.drive.actor import Actor
from runtime.drive.offline import admit
from runtime.drive.options import Admission, Ending, LeaseTerms
from runtime.drive.run_log import Snapshot
from runtime.drive.supervisor import Supervisor
from runtime.host.hook import Hook
from runtime.host.wakeup import NoWakeUp, WakeUp
from runtime.journal.port import ORDINARY, Journal, Placement, Posted
from runtime.models.limiter import CallLimiter
from runtime.models.port import Fault
from runtime.models.probe import Askable, Probes
from runtime.models.routed import RoutedModel
from runtime.models.watched import LiveReplies, WatchedModel
from runtime.process.identity import identity, is_dead

P = TypeVar("P")


@dataclass(frozen=True)
class Engine(RunReader):
    """Starts, resumes, reads and cancels the runs of one journal, with all that driving them needs."""

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
    """The kinds of runs that this process can drive."""
    threads: bool = True
    """Whether slow guards run in threads; not in simulations."""
    limiter: CallLimiter = field(default_factory=CallLimiter)
    """Limits the calls in flight to each provider and for each run."""
    calls_total: Mapping[str, int] = field(default_factory=dict)
    """The most calls in flight to some providers from all hosts of the journal together."""
    wakeup: WakeUp = field(default_factory=NoWakeUp)
    """Wakes the hosts of the home."""
    hook: Hook = field(default_factory=Hook)
    """The user's program that is told that a run waits."""
    webhooks: Mapping[str, WebhookEntry] = field(default_factory=dict)
    """The addresses that a host posts signed messages to, by name."""
    answering: Answering | None = None
    """Who is sent links that answer questions; None for nobody."""
    reminders: tuple[ReminderRule, ...] = ()
    """What is done about questions of new runs that nobody answers."""
    probes: Probes = field(default_factory=Probes)
    """Asks providers that are waited for whether they are up."""
    lease_seconds: float | None = None
    """The length of leases; None for the usual one."""
    placement: Placement = ORDINARY
    """Whom new runs are accounted to, and their priority."""
    by: str = ""
    """Who starts new runs, as `actors.run.waits.Started` has it."""
    models: Shared | None = None
    """The models that runs share; None opens one for each run."""
    replies: LiveReplies = field(default_factory=LiveReplies)
    """The replies in progress to the calls of the runs that this process drives."""
    cache: CachedReader | None = None
    """Keeps the runs that a server has read lately; None reads a run from the journal each time."""

    async def read(self, run: str) -> Loaded:
        """Return a run's kind, state and records. Raises as `RunReader.read` does."""
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
        """Start a new run and drive it to its end, a question, or a stop.

        It is admitted in the transaction of its first records. Raises as `admit` does.
        """
        name, kind = run or new_run_id(), self.kinds.named(prepared.kind)
        first = self._first(prepared, name)
        state = started(kind, first)
        async with self.models_of(kind, state, {}) as model:
            admission = Admission(prepared.title, kind.name, kind.format, self.placement)
            result = await self._drive(name, kind, state, options, model=model, first=first, admission=admission)
        return await self.resume(name, options) if result is None else result

    async def resume(self, run: str, options: DriveOptions = DETACHED) -> RunResult:
        """Go on with a run where its journal ends. A finished run's result is returned as it is.

        The end of a run that may go on is undone (docs/explanation/endings.md), unless a host drives it.

        Raises `RunNotFound`, `KindUnknown`, `Held`, `JournalDamaged`, and `UsageProblem` for a run that never began,
        that is a step of another, or that needs a plug-in which is not there.
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
        """Return the first event of a new run, which says who starts it."""
        first = prepared.first(run, self.clock.now())
        if self.reminders:
            first = first.model_copy(update={"reminders": self.reminders})
        return first.model_copy(update={"by": self.by}) if self.by else first

    async def answer(self, question: str, text: str, *, via: Via = "", person: str = "") -> AnswerReceipt:
        """Post an answer to the question `RUN/ID`; it is in the journal when this returns.

        `via` is the way that it came, and `person` the name of who used a link or an account for it, else empty.

        The same answer again is a `duplicate`, another one a `conflict` that says which counts. Raises `RunNotFound`,
        `KindUnknown`, and `UsageProblem` for an unknown or closed question or an answer that does not fit, as
        `ForPeopleOnly` for a question that a program may not answer.
        """
        return await self._post(question, partial(inbox.post_answer, text=text, via=via, person=person))

    async def decline(self, question: str, *, via: Via = "", person: str = "") -> AnswerReceipt:
        """Post that a question will not be answered; the receipt says what happens then. Raises as `answer` does."""
        return await self._post(question, partial(inbox.post_decline, via=via, person=person))

    async def _post(self, question: str, post: Callable[..., Awaitable[AnswerReceipt]]) -> AnswerReceipt:
        run, name = inbox.split(question)
        await check_own(self, run, "questions RUN")
        return await self._and_wake(post(self.journal, await self.common_with_inbox(run), run, name))

    async def tell(self, run: str, text: str, kind: str = "note", *, key: str = "") -> Posted:
        """Post a note, which later prompts show, or a requirement, which changes what is asked for.

        A note that is a correction, as its kind of run says, is posted as one: in an acquisition `FIELD=VALUE`, also
        after a success. A message with a `key` is posted once: again it is a `duplicate`, another text a `conflict`.

        Raises `RunNotFound`, `KindUnknown`, and `UsageProblem` for an empty or too long text and for a run that has
        finished or is a step of another.
        """
        await check_own(self, run, "tell RUN TEXT")
        loaded = await self.read(run)
        state = await self.with_inbox(run, loaded)
        correction = loaded.kind.correction(state, text) if kind == "note" else None
        if correction is not None:
            return await self._and_wake(inbox.post_correction(self.journal, run, correction, key=key))
        common = loaded.kind.run_state(state)
        return await self._and_wake(inbox.post_message(self.journal, common, run, text, kind, key=key))

    async def change(self, run: str, changes: Mapping[str, Any], *, key: str = "") -> Posted:
        """Post a change of the limits, the model, or the limits of calls and replies (`actors.run.settings`).

        `key` is as for `tell`.

        Raises `RunNotFound`, `KindUnknown`, and `UsageProblem`, whose place is the key, for a change that is not valid
        and for a run whose end is final or that is a step of another.
        """
        await check_own(self, run, "resume RUN")
        common = await self.common_with_inbox(run)
        return await self._and_wake(inbox.post_change(self.journal, common, run, changes, key=key))

    async def cancel(self, run: str) -> Posted:
        """Post the message that cancels a run. A run that nobody drives is cancelled when it is driven next.

        Raises `RunNotFound`, and `UsageProblem` for a run that is a step of another, or that never began.
        """
        await check_own(self, run, "cancel RUN")
        if (await self.journal.row(run)).last_seq == 0:
            raise inbox.not_started(run)
        return await self.post_cancel(run)

    async def undo(self, run: str) -> Posted:
        """Post the message that has everything undone that an execution did, also after its end; it is driven next.

        Raises `RunNotFound`, `KindUnknown`, and `UsageProblem` for a run of another kind, that is a step of another,
        that never began, with nothing to undo, or that is undone already.
        """
        await check_own(self, run, "undo RUN")
        loaded = await self.read(run)
        if not loaded.started:
            raise inbox.not_started(run)
        problem = loaded.kind.undo_problem(await self.with_inbox(run, loaded))
        if problem:
            raise UsageProblem(problem, place=run, hint=f"`{program()} show {run}` shows what it did")
        return await self._and_wake(inbox.post_undo(self.journal, run))

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
        return self.view(run, loaded.kind, supervisor.state, status_at_rest(loaded.kind, supervisor.state, ending))

    @asynccontextmanager
    async def models_of(self, kind: AnyKind, state: Any, used: Mapping[str, int]) -> AsyncIterator[Any]:
        """Open the model of a begun run, and those that its steps name, as one model; None for none."""
        async with AsyncExitStack() as stack:
            own = await stack.enter_async_context(self.model(kind.model(state), used))
            names = dict.fromkeys(kind.step_models(state).values())
            others = {name: await stack.enter_async_context(self.model(name, used)) for name in names}
            yield RoutedModel(own, others) if others else own

    @asynccontextmanager
    async def model(self, name: str | None, used: Mapping[str, int]) -> AsyncIterator[Any]:
        """Open the model of a run; None for none. `used` counts the replies that the run has had, by purpose."""
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
        )
        if self.models is not None and is_stateless(name):
            yield await self.models.get(name, opening)
            return
        async with opening as model:
            yield model

    def watched(self, model: Any) -> Any:
        """Return an open model that publishes its replies in progress to `replies`; as it is where it does already."""
        return model if model is None or isinstance(model, WatchedModel) else WatchedModel(model, self.replies)

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
    ) -> RunResult | None:
        """Drive a run with its model; return None where a person has given it another one meanwhile."""
        async with self.actors(kind, state, self.watched(model), options) as actors:
            supervisor = self.supervisor(run, kind, actors, options, snapshot=snapshot, admission=admission)
            ending = await supervisor.drive(first)
        common = kind.run_state(supervisor.state)
        stopped = options.stop is not None and options.stop.requested.is_set()
        if ending is Ending.PARKED and not stopped and common is not None and common.renewing:
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
            at_once=options.at_once,
            snapshot=snapshot,
            admission=admission,
        )

    def lease(self) -> LeaseTerms:
        """Return the terms that this process holds runs on."""
        terms = LeaseTerms(owner=identity(), dead=is_dead)
        return terms if self.lease_seconds is None else replace(terms, ttl=self.lease_seconds)


FRESH_SECONDS = 900.0
"""The seconds in which the answer that a provider is down also counts for other runs that wait without a process."""


def resources_for(
    engine: Engine, model_name: str | None, model: Any, options: DriveOptions, *, others: Sequence[str] = ()
) -> Resources:
    """Return the resources of a run: `model` is open, and `model_name` its name as after `--model`; None for none.

    `others` are the names of the models that its steps name, which are open likewise.
    """
    plain_model: Any = model.model if isinstance(model, WatchedModel) else model
    plain_model = plain_model.asked if isinstance(plain_model, RoutedModel) else plain_model
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
