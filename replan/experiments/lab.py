"""Simulates a run of the planning machine with the simulated author, without actors, journal or clock.

Time is a number. Replies are delivered in the order of their simulated times, as they would be in a real run, so both
have the same events.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import orjson

from actors.config.model_spec import Simulated
from actors.config.step_guards import guard_for, guards_of
from actors.config.workflow import FREE_GENERATORS
from actors.guards.built_in import BUILT_IN
from actors.guards.port import AnyGuard, GuardFactory
from actors.handlers.briefs import CallOptions, GenerationBrief
from actors.handlers.generators import material
from actors.handlers.registry import Registry
from actors.handlers.templates import TemplateSelectorGenerator
from actors.planning.call_events import ClassificationRequested, GenerationRequested
from actors.planning.config import RunConfig
from actors.planning.events import JudgementRequested, PlanningEvent, RunStarted
from actors.planning.machine import PlanningMachine
from actors.planning.prompt_context import context_for
from actors.planning.requests import prompt_bytes
from actors.planning.state import PlanningState, State
from actors.prompting.render import Rendered
from actors.run.messages import Faulted, Generated, Judged, RunMessage
from actors.run.questions import ClarificationRequested
from actors.run.waits import WaitRequested
from actors.simulated.author import answer_in, person_answer
from actors.simulated.model import address
from actors.simulated.profile import Profile
from actors.simulated.verdict_filter import VerdictFilter, scored
from actors.simulated.world import World, read_views
from actors.values.artifacts import Context
from actors.values.findings import Verdict
from replan.experiments.guard_memory import remembering, remembering_made
from runtime.core.ledger import Limits
from runtime.core.machine import Machine, Refused, Work, settle
from runtime.core.messages import Mailed, Woken
from runtime.models.port import Fault, Reply

START = 0.0
"""The time at which a simulated run begins, in UTC seconds since 1970."""
MACHINE: Machine[PlanningState, PlanningEvent, RunMessage] = PlanningMachine()


@dataclass(frozen=True)
class LabSetup:
    """What all simulated trials of an arm have in common."""

    pinned: RunConfig
    """The configuration that the run pins."""
    limits: Limits
    """The limits of each run; the calls are those that the experiment allows one trial."""
    profile: Profile
    """The profile of the simulated author."""
    registry: Registry = field(default_factory=Registry)
    """The guards and generators that the workflow may name."""
    verdict_filter: VerdictFilter | None = None
    """A change of the verdicts of plan guards; its seed is replaced by that of the trial."""

    @cached_property
    def pinned_text(self) -> str:
        """The configuration as JSON text."""
        return self.pinned.model_dump_json()

    def guards(self, seed: int) -> Mapping[str, AnyGuard]:
        """Return the guard of each step for a trial with this seed."""
        if self.verdict_filter is None:
            return self._unfiltered_guards
        factories = replace(self.verdict_filter, seed=seed).apply(self._remembering)
        return {step: guard_for(self.pinned.workflow, step, factories) for step in self.pinned.workflow.action_pairs}

    @cached_property
    def built_in(self) -> frozenset[str]:
        """The steps whose guards are all built in."""
        workflow, guards = self.pinned.workflow, self.registry.guards
        return frozenset(
            step
            for step in workflow.action_pairs
            if all(guards[name] is BUILT_IN.get(name) for name in guards_of(workflow, step))
        )

    @cached_property
    def _unfiltered_guards(self) -> Mapping[str, AnyGuard]:
        workflow, guards = self.pinned.workflow, self.registry.guards
        made = {step: guard_for(workflow, step, guards) for step in workflow.action_pairs}
        return {
            step: remembering(guard, guards_of(workflow, step)) if step in self.built_in else guard
            for step, guard in made.items()
        }

    @cached_property
    def _remembering(self) -> Mapping[str, GuardFactory]:
        """The guards, of which the built-in ones judge equal inputs once."""
        guards = self.registry.guards.items()
        return {name: remembering_made(name, make) if make is BUILT_IN.get(name) else make for name, make in guards}

    @cached_property
    def selectors(self) -> Mapping[str, TemplateSelectorGenerator]:
        """The template selectors, by step."""
        folder, pairs = self.registry.templates, self.pinned.workflow.action_pairs
        return {
            step: TemplateSelectorGenerator(folder, pair.generator_config)
            for step, pair in pairs.items()
            if pair.generator in FREE_GENERATORS and folder is not None
        }


def simulate_run(setup: LabSetup, problem: str, seed: int) -> tuple[PlanningState, list[PlanningEvent]]:
    """Simulate a run until it ends or waits for a person; return its last state and all events."""
    world = World(setup.profile, seed, problem)
    worker = _Worker(setup, world, setup.guards(seed), address(Simulated(setup.profile.name, seed)))
    first = RunStarted(at=START, run="lab", specification=problem, pinned=setup.pinned_text, limits=setup.limits)
    state, events = settle(MACHINE, MACHINE.initial(), first)
    queue: list[tuple[float, int, str, RunMessage]] = []
    started: set[tuple[str, float | None]] = set()
    now = START
    while state.run.finished is None:
        open_work = MACHINE.outstanding(state)
        for request_id, work in open_work.items():
            if (request_id, work.until) not in started:
                started.add((request_id, work.until))
                message = worker.message(state, work, now)
                if message is not None:
                    heapq.heappush(queue, (message.at, len(started), request_id, message))
        while queue and queue[0][2] not in open_work:  # Withdrawn: the supervisor would have cancelled it.
            heapq.heappop(queue)
        if not queue:
            break
        now, _, _, message = heapq.heappop(queue)
        accepted = MACHINE.accept(state, message)
        if accepted is not None and not isinstance(accepted, Refused):
            state, batch = settle(MACHINE, state, accepted)
            events += batch
    return state, events


@dataclass(frozen=True, slots=True)
class _Worker:
    """Does the work that the actors would do in a real run."""

    setup: LabSetup
    world: World
    guards: Mapping[str, AnyGuard]
    model: str
    """The name of the simulated model, as after `--model`."""
    contexts: dict[str, Context] = field(default_factory=dict)
    """The context of each attempt that has been generated and not judged, by its node."""

    def message(self, state: PlanningState, work: Work, now: float) -> RunMessage | None:
        """Return the message that answers a piece of work, with its time; None if nobody can answer it."""
        assert isinstance(state, State), "work is of a run that has begun"
        match work.request:
            case GenerationRequested() as request:
                return self._generated(state, request, now)
            case ClassificationRequested() as request:
                brief = MACHINE.brief(state, work)
                prompt, contents = brief.prompt, material(brief.context)
                reply, seconds = self._answer(request.request_id, contents, prompt.byte_count)
                return _message(request.request_id, now, reply, seconds)
            case JudgementRequested() as request:
                return Judged(request.request_id, now, 0.0, self._verdict(state, work, request))
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

    def _generated(self, state: State, request: GenerationRequested, now: float) -> RunMessage:
        step, config = request.step, state.config
        context = context_for(state, state.branch_of(request.node), step)
        if step in self.setup.selectors:
            brief = GenerationBrief("lab", CallOptions(request.request_id, step, 0.0, 1), Rendered("", ""), context)
            return Generated(request.request_id, now, 0.0, self.setup.selectors[step].reply(brief))
        self.contexts[request.node] = context
        return _message(
            request.request_id,
            now,
            *self._answer(request.request_id, material(context), prompt_bytes(config, request)),
        )

    def _answer(self, request_id: str, contents: Mapping[str, Any], size: int) -> tuple[Reply | Fault, float]:
        return answer_in(self.world, request_id, contents, size, self.model)

    def _verdict(self, state: State, work: Work, request: JudgementRequested) -> Verdict:
        """Return the guard's verdict. A built-in guard reads no feedback, so it gets the context of the generation."""
        artifact, context = state.nodes[request.node].artifact, self.contexts.pop(request.node, None)
        if context is None or state.run.clarifications or request.step not in self.setup.built_in:
            context = MACHINE.brief(state, work).context
        assert artifact is not None
        verdict = self.guards[request.step](artifact, context)
        assert isinstance(verdict, Verdict)  # Async guards cannot be simulated.
        return scored(verdict, artifact, self.world)


def _message(request_id: str, now: float, reply: Reply | Fault, seconds: float) -> RunMessage:
    if isinstance(reply, Fault):
        return Faulted(request_id, now + seconds, seconds, reply)
    return Generated(request_id, now + seconds, seconds, reply)
