"""Simulates runs without actors, journal or clock: a loop for all kinds of runs, and a worker for planning runs.

Simulated time is a number. Replies are delivered in the order of their simulated times, as in a real run. So a
simulated run and a real run have the same events.
"""

import heapq
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import orjson

from actors.config.step_guards import BUILT_IN, guards_of, make_step_guard
from actors.config.workflow import TEMPLATE_GENERATORS
from actors.guards.port import AnyGuard, Guard, GuardFactory, definition_of
from actors.handlers.briefs import CallOptions, GenerationBrief
from actors.handlers.generators import Registry, material
from actors.handlers.plan_generators import TemplateSelectorGenerator
from actors.planning.briefs import prompt_bytes
from actors.planning.config import RunConfig
from actors.planning.events import (
    ClassificationRequested,
    GenerationRequested,
    JudgementRequested,
    PlanningEvent,
    RunStarted,
)
from actors.planning.machine import PlanningMachine
from actors.planning.prompt_context import context_for
from actors.planning.state import PlanningState, State
from actors.prompting.render import Rendered
from actors.run.calls import Faulted, Generated, Judged, RunMessage
from actors.run.questions import ClarificationRequested
from actors.run.tools import Begun, ToolRequested
from actors.run.waits import WaitRequested
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from replan_lab.simulated.author import address, answer_in, person_answer
from replan_lab.simulated.plans import judged_part
from replan_lab.simulated.profile import AuthorProfile
from replan_lab.simulated.verdict_filter import VerdictFilter
from replan_lab.simulated.world import World, read_views
from runtime.core.ledger import Limits
from runtime.core.machine import Machine, Refused, Work, settle
from runtime.core.messages import Mailed, Woken
from runtime.models.port import Fault

START = 0.0
"""The time at which a simulated run begins, in UTC seconds since 1970."""
MESSAGES_MAX = 20_000
"""The number of messages after which the simulation of a run fails. The run's own limits end it long before this
number."""
COMPARES_WORDS = frozenset(("follows_critique", "human_review"))
"""The built-in guards whose verdicts are not cached. They read parts of a plan or its dependencies that `judged_part`
leaves out, or they give no verdict.
"""
REMEMBERED_MAX = 50_000
PLANNING: Machine[PlanningState, PlanningEvent, RunMessage] = PlanningMachine()

S = TypeVar("S")
E = TypeVar("E")
S_contra = TypeVar("S_contra", contravariant=True)


class Worker(Protocol[S_contra]):
    """Does the work that the actors would do in a real run."""

    def reply(self, state: S_contra, work: Work, now: float) -> RunMessage | None:
        """Return the message that answers the request in `work`, with its time; None if nobody answers."""


@dataclass
class Simulation(Generic[S, E]):
    """A run that is being simulated."""

    machine: Machine[S, E, RunMessage]
    worker: Worker[S]
    state: S
    events: list[E]
    now: float = START
    _replies: list[tuple[float, int, str, RunMessage]] = field(default_factory=list)
    _begun: set[tuple[str, float | None]] = field(default_factory=set)

    def run(self) -> None:
        """Simulate until the run ends or nobody can answer its open requests."""
        for _ in range(MESSAGES_MAX):
            open_work = self._begin()
            while self._replies and self._replies[0][2] not in open_work:  # The supervisor would have cancelled it.
                heapq.heappop(self._replies)
            if not self._replies:
                return
            self.now, _, _, message = heapq.heappop(self._replies)
            self._accept(message)
        raise AssertionError(f"the run did not end within {MESSAGES_MAX} messages")

    def _begin(self) -> Mapping[str, Work]:
        """Begin the work on all open requests, and return this work by request.

        The start of a tool's call is also a message.
        """
        open_work = self.machine.outstanding(self.state)
        new = [work for work in open_work.values() if (work.request_id, work.until) not in self._begun]
        tools = False
        for work in new:
            self._begun.add((work.request_id, work.until))
            if isinstance(work.request, ToolRequested):
                self._accept(Begun(work.request_id, self.now))
                tools = True
            message = self.worker.reply(self.state, work, self.now)
            if message is not None:
                heapq.heappush(self._replies, (message.at, len(self._begun), work.request_id, message))
        return self._begin() if tools else open_work

    def _accept(self, message: RunMessage) -> None:
        accepted = self.machine.accept(self.state, message)
        if accepted is not None and not isinstance(accepted, Refused):
            self.state, batch = settle(self.machine, self.state, accepted)
            self.events += batch


def simulate(machine: Machine[S, E, RunMessage], worker: Worker[S], first: E) -> Simulation[S, E]:
    """Simulate a run from its first event on, and return the ended run."""
    simulation = Simulation(machine, worker, *settle(machine, machine.initial(), first))
    simulation.run()
    return simulation


def _cache_verdicts(guard: AnyGuard, names: Collection[str]) -> Guard:
    """Return a guard with the same verdicts as `guard`.

    It computes only one verdict for equal inputs, and then returns the stored one. `names` are the names of the
    built-in guards that `guard` consists of. Simulated artifacts repeat often, so most verdicts are in the cache. The
    inputs are the artifact and what built-in guards read of the context: the user's texts, the role, and the artifacts
    that the step requires. The parts of a plan that no guard reads are ignored: its views, and the note in its goal.
    """
    verdicts = dict[tuple[object, ...], Verdict]()
    remembered = REMEMBERED_MAX if COMPARES_WORDS.isdisjoint(names) else 0

    def judge(artifact: Artifact, context: Context) -> Verdict:
        role = context.settings.get("role")
        content = judged_part(artifact.content) if role == "plan" else artifact.content
        above = tuple((step, judged_part(other.content)) for step, other in context.dependencies.items())
        answers = tuple((clarification.question, clarification.answer) for clarification in context.clarifications)
        key = content, artifact.finish_reason, role, above, context.user_texts, answers, context.given is None
        verdict = verdicts.get(key)
        if verdict is None:
            verdict = _verdict(guard, artifact, context)
            if len(verdicts) < remembered:
                verdicts[key] = verdict
        return verdict

    return judge


def _cache_factory(name: str, make: GuardFactory) -> GuardFactory:
    return replace(definition_of(make), make=lambda config: _cache_verdicts(make(config), (name,)))


def _verdict(guard: AnyGuard, artifact: Artifact, context: Context) -> Verdict:
    verdict = guard(artifact, context)
    assert isinstance(verdict, Verdict)  # Async guards cannot be simulated.
    return verdict


@dataclass(frozen=True)
class LabSetup:
    """The common settings of all simulated trials of an arm."""

    pinned: RunConfig
    limits: Limits
    """The limits of each run. The limit of calls is the experiment's limit for one trial."""
    profile: AuthorProfile
    registry: Registry = field(default_factory=Registry)
    verdict_filter: VerdictFilter | None = None
    """It changes the verdicts of the guards of plans; None changes nothing. The trial's seed replaces the filter's
    seed.
    """

    @cached_property
    def pinned_text(self) -> str:
        """The run's configuration as JSON text."""
        return self.pinned.model_dump_json()

    def guards(self, seed: int) -> Mapping[str, AnyGuard]:
        """Return the guard of each step for a trial with this seed."""
        if self.verdict_filter is None:
            return self._unfiltered
        factories = replace(self.verdict_filter, seed=seed).apply(self._factories)
        return {
            step: make_step_guard(self.pinned.workflow, step, factories) for step in self.pinned.workflow.action_pairs
        }

    @cached_property
    def _factories(self) -> Mapping[str, GuardFactory]:
        guards = self.registry.guards.items()
        return {name: _cache_factory(name, make) if make is BUILT_IN.get(name) else make for name, make in guards}

    @cached_property
    def _unfiltered(self) -> Mapping[str, AnyGuard]:
        workflow, guards = self.pinned.workflow, dict[str, AnyGuard]()
        for step in workflow.action_pairs:  # A composite guard remembers its whole verdict, which is faster.
            guard = make_step_guard(workflow, step, self.registry.guards)
            guards[step] = _cache_verdicts(guard, guards_of(workflow, step)) if step in self.built_in else guard
        return guards

    @cached_property
    def built_in(self) -> frozenset[str]:
        """The ids of the steps that have only built-in guards."""
        workflow, guards = self.pinned.workflow, self.registry.guards
        return frozenset(
            step
            for step in workflow.action_pairs
            if all(guards[name] is BUILT_IN.get(name) for name in guards_of(workflow, step))
        )

    @cached_property
    def selectors(self) -> Mapping[str, TemplateSelectorGenerator]:
        """The template selectors by step."""
        folder, pairs = self.registry.templates, self.pinned.workflow.action_pairs
        return {
            step: TemplateSelectorGenerator(folder, pair.generator_config)
            for step, pair in pairs.items()
            if pair.generator in TEMPLATE_GENERATORS and folder is not None
        }


def simulate_run(setup: LabSetup, problem: str, seed: int) -> tuple[PlanningState, list[PlanningEvent]]:
    """Simulate a planning run until it ends or waits for a person. Return its last state and all events."""
    world = World(setup.profile, seed, problem)
    worker = _Planner(setup, world, setup.guards(seed), address(setup.profile.name, seed))
    first = RunStarted(at=START, run="lab", specification=problem, pinned=setup.pinned_text, limits=setup.limits)
    simulation = simulate(PLANNING, worker, first)
    return simulation.state, simulation.events


@dataclass(frozen=True, slots=True)
class _Planner:
    setup: LabSetup
    world: World
    guards: Mapping[str, AnyGuard]
    model: str
    """The name of the simulated model in the form of `--model`."""
    contexts: dict[str, Context] = field(default_factory=dict)
    """The context of each attempt that has been generated but not yet judged, by the id of the attempt's node."""

    def reply(self, state: PlanningState, work: Work, now: float) -> RunMessage | None:
        """Return the message that answers the request in `work`, with its time; None if nobody answers."""
        assert isinstance(state, State), "the run of a request has not begun"
        match work.request:
            case GenerationRequested() as request:
                return self._reply_message(state, request, now)
            case ClassificationRequested() as request:
                brief = PLANNING.brief(state, work)
                return self._answer_message(request.request_id, material(brief.context), brief.prompt.byte_count, now)
            case JudgementRequested() as request:
                return Judged(request.request_id, now, 0.0, self._judge(state, work, request))
            case WaitRequested() as request:
                return Woken(request.request_id, request.until)
            case ClarificationRequested() as request if self.setup.profile.person is not None:
                artifact = state.nodes[request.node].artifact
                views = read_views(artifact.content) if artifact is not None else {}
                answer = person_answer(self.world, request.question_id, views)
                body = orjson.dumps({"kind": "answer", "question": request.question_id, "answer": answer}).decode()
                return Mailed(len(state.run.questions), f"answer:{request.question_id}", body, now)
            case _:
                return None

    def _reply_message(self, state: State, request: GenerationRequested, now: float) -> RunMessage:
        step = request.step
        context = context_for(state, state.branch_of(request.node), step)
        if step in self.setup.selectors:
            brief = GenerationBrief("lab", CallOptions(request.request_id, step, 0.0, 1), Rendered("", ""), context)
            return Generated(request.request_id, now, 0.0, self.setup.selectors[step].reply(brief))
        self.contexts[request.node] = context
        return self._answer_message(request.request_id, material(context), prompt_bytes(state.config, request), now)

    def _answer_message(self, request_id: str, contents: Mapping[str, Any], size: int, now: float) -> RunMessage:
        reply, seconds = answer_in(self.world, request_id, contents, size, self.model)
        if isinstance(reply, Fault):
            return Faulted(request_id, now + seconds, seconds, reply)
        return Generated(request_id, now + seconds, seconds, reply)

    def _judge(self, state: State, work: Work, request: JudgementRequested) -> Verdict:
        """Return the guard's verdict.

        A built-in guard reads no feedback, so it can get the context that the generator had.
        """
        artifact, context = state.nodes[request.node].artifact, self.contexts.pop(request.node, None)
        if context is None or state.run.clarifications or request.step not in self.setup.built_in:
            context = PLANNING.brief(state, work).context
        assert artifact is not None
        return _verdict(self.guards[request.step], artifact, context)
