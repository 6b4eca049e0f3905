"""Simulates a run of the planning machine with the simulated author, without actors, journal or clock.

Time is a number. Replies are delivered in the order of their simulated times, as they would be in a real run, so both
have the same events.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from actors.config.model_spec import Simulated
from actors.config.step_guards import guard_for
from actors.config.workflow import FREE_GENERATORS
from actors.guards.port import AnyGuard, GuardFactory
from actors.handlers.briefs import GenerationBrief, JudgementBrief
from actors.handlers.generators import model_request
from actors.handlers.registry import Registry
from actors.handlers.templates import TemplateSelectorGenerator
from actors.planning.call_events import ClassificationRequested, GenerationRequested
from actors.planning.config import RunConfig
from actors.planning.events import JudgementRequested, PlanningEvent
from actors.planning.machine import PlanningMachine
from actors.planning.messages import Begin, PlanningMessage
from actors.planning.state import PlanningState
from actors.run.messages import Faulted, Generated, Judged
from actors.run.waits import WaitRequested
from actors.simulated.author import answer
from actors.simulated.model import address
from actors.simulated.profile import Profile
from actors.simulated.verdict_filter import VerdictFilter
from actors.values.findings import Verdict
from runtime.core.ledger import Limits
from runtime.core.machine import Machine, Refused, Work, settle
from runtime.core.messages import Woken
from runtime.models.port import Fault

START = 0.0
"""The time at which a simulated run begins, in UTC seconds since 1970."""
MACHINE: Machine[PlanningState, PlanningEvent, PlanningMessage] = PlanningMachine()


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
        return self._guards(replace(self.verdict_filter, seed=seed).apply(self.registry.guards))

    @cached_property
    def _unfiltered_guards(self) -> Mapping[str, AnyGuard]:
        return self._guards(self.registry.guards)

    def _guards(self, factories: Mapping[str, GuardFactory]) -> Mapping[str, AnyGuard]:
        workflow = self.pinned.workflow
        return {step: guard_for(workflow, step, factories) for step in workflow.action_pairs}

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
    worker = _Worker(setup, seed, setup.guards(seed), address(Simulated(setup.profile.name, seed)))
    first = MACHINE.accept(MACHINE.initial(), Begin(START, "lab", problem, setup.pinned_text, setup.limits))
    assert first is not None
    assert not isinstance(first, Refused)
    state, events = settle(MACHINE, MACHINE.initial(), first)
    queue: list[tuple[float, int, str, PlanningMessage]] = []
    started: set[str] = set()
    now = START
    while state.run.finished is None:
        open_work = MACHINE.outstanding(state)
        for request_id, work in open_work.items():
            if request_id not in started:
                started.add(request_id)
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
    seed: int
    guards: Mapping[str, AnyGuard]
    model: str
    """The name of the simulated model, as after `--model`."""

    def message(self, state: PlanningState, work: Work, now: float) -> PlanningMessage | None:
        """Return the message that answers a piece of work, with its time; None if only a person can answer it."""
        match work.request:
            case GenerationRequested() | ClassificationRequested():
                brief = MACHINE.brief(state, work)
                assert isinstance(brief, GenerationBrief)
                return self._generated(brief, now)
            case JudgementRequested() as request:
                brief = MACHINE.brief(state, work)
                assert isinstance(brief, JudgementBrief)
                verdict = self.guards[request.step](brief.artifact, brief.context)
                assert isinstance(verdict, Verdict)  # Async guards cannot be simulated.
                return Judged(request.request_id, now, 0.0, verdict)
            case WaitRequested() as request:
                return Woken(request.request_id, request.until)
            case _:
                return None

    def _generated(self, brief: GenerationBrief, now: float) -> PlanningMessage:
        request_id, step = brief.request.request_id, brief.request.purpose
        if step in self.setup.selectors:
            return Generated(request_id, now, 0.0, self.setup.selectors[step].reply(brief))
        reply, seconds = answer(self.setup.profile, self.seed, model_request(brief), self.model)
        if isinstance(reply, Fault):
            return Faulted(request_id, now + seconds, seconds, reply)
        return Generated(request_id, now + seconds, seconds, reply)
