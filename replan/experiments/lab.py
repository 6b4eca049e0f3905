"""The laboratory: plays a run of the pure machine with the simulated author, without actors, journal or clock.

Time is a number. The work that is open is done in the order in which it would be finished, as the shell would do it; so
a run comes out as it would there.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from actors.config.model_spec import Simulated
from actors.config.step_guards import guard_for
from actors.config.workflow import FREE_GENERATORS
from actors.guards.port import AnyGuard
from actors.handlers.actors import Registry
from actors.handlers.generators import model_request
from actors.handlers.templates import TemplateSelectorGenerator
from actors.planning.call_events import ClassificationRequested, GenerationRequested
from actors.planning.config import RunConfig
from actors.planning.events import JudgementRequested, PlanningEvent
from actors.planning.machine import GenerationBrief, JudgementBrief, PlanningMachine
from actors.planning.messages import Begin, Judged, PlanningMessage
from actors.planning.state import PlanningState
from actors.run.messages import Faulted, Generated
from actors.run.waits import WaitRequested
from actors.simulated.author import answer
from actors.simulated.model import address
from actors.simulated.profile import Profile
from actors.simulated.verdict_filter import Lens
from actors.values.findings import Verdict
from runtime.core.ledger import Limits
from runtime.core.machine import Machine, Refused, Work, settle
from runtime.core.messages import Woken
from runtime.models.port import Fault

START = 0.0
"""When a simulated run begins, in seconds since 1970."""
MACHINE: Machine[PlanningState, PlanningEvent, PlanningMessage] = PlanningMachine()


@dataclass(frozen=True)
class Bench:
    """One way to plan, ready to be tried: the pinned configuration, and the hands that do its work."""

    pinned: RunConfig
    limits: Limits
    profile: Profile
    registry: Registry = field(default_factory=Registry)
    lens: Lens | None = None

    @cached_property
    def text(self) -> str:
        """The configuration as a run starts with it."""
        return self.pinned.model_dump_json()

    def guards(self, seed: int) -> Mapping[str, AnyGuard]:
        """Return the guard of each step, as seen through the lens of this seed."""
        return self._plain_guards if self.lens is None else self._made(replace(self.lens, seed=seed))

    @cached_property
    def _plain_guards(self) -> Mapping[str, AnyGuard]:
        return self._made(None)

    def _made(self, lens: Lens | None) -> Mapping[str, AnyGuard]:
        workflow, known = self.pinned.workflow, self.registry.guards
        seen = known if lens is None else lens.over(known)
        return {step: guard_for(workflow, step, seen) for step in workflow.action_pairs}

    @cached_property
    def selectors(self) -> Mapping[str, TemplateSelectorGenerator]:
        """The template selector of each step that has one."""
        folder, pairs = self.registry.templates, self.pinned.workflow.action_pairs
        return {
            step: TemplateSelectorGenerator(folder, pair.generator_config)
            for step, pair in pairs.items()
            if pair.generator in FREE_GENERATORS and folder is not None
        }


def play(bench: Bench, problem: str, seed: int) -> tuple[PlanningState, list[PlanningEvent]]:
    """Play a run to its end, or to where only a person could go on; return its last state and all events."""
    hands = _Hands(bench, seed, bench.guards(seed), address(Simulated(bench.profile.name, seed)))
    first = MACHINE.accept(MACHINE.initial(), Begin(START, "lab", problem, bench.text, bench.limits))
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
                message = hands.message(state, work, now)
                if message is not None:
                    heapq.heappush(queue, (message.at, len(started), request_id, message))
        while queue and queue[0][2] not in open_work:  # Withdrawn: the shell would have cancelled it.
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
class _Hands:
    """Who does the work of one run."""

    bench: Bench
    seed: int
    guards: Mapping[str, AnyGuard]
    name: str

    def message(self, state: PlanningState, work: Work, now: float) -> PlanningMessage | None:
        """Return the message that will answer a piece of work, with its time; None for what only a person answers."""
        match work.request:
            case GenerationRequested() | ClassificationRequested():
                brief = MACHINE.brief(state, work)
                assert isinstance(brief, GenerationBrief)
                return self._generated(brief, now)
            case JudgementRequested() as request:
                brief = MACHINE.brief(state, work)
                assert isinstance(brief, JudgementBrief)
                verdict = self.guards[request.step](brief.artifact, brief.context)
                assert isinstance(verdict, Verdict)  # A guard that waits for something has no place in a simulation.
                return Judged(request.request_id, now, 0.0, verdict)
            case WaitRequested() as request:
                return Woken(request.request_id, request.until)
            case _:
                return None

    def _generated(self, brief: GenerationBrief, now: float) -> PlanningMessage:
        request_id, step = brief.request.request_id, brief.request.purpose
        if step in self.bench.selectors:
            return Generated(request_id, now, 0.0, self.bench.selectors[step].reply(brief))
        reply, seconds = answer(self.bench.profile, self.seed, model_request(brief), self.name)
        if isinstance(reply, Fault):
            return Faulted(request_id, now + seconds, seconds, reply)
        return Generated(request_id, now + seconds, seconds, reply)
