"""Configurations for tests of the planning machine, and a simulated world that answers its requests without I/O."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

from actors.config.workflow import Workflow
from actors.planning.config import RunConfig
from actors.planning.events import ClassificationRequested, GenerationRequested, JudgementRequested, PlanningEvent
from actors.planning.machine import PlanningMachine
from actors.planning.state import PlanningState, State
from actors.policy.table import CLASSIFIER, Policy
from actors.prompting.book import PromptBook, PromptEntry, Sections
from actors.run.calls import Faulted, Generated, Judged, RunMessage
from actors.run.state import NotStarted
from actors.values.findings import Finding, Verdict
from replan.setup.installation import data_root
from runtime.core.ledger import Limits, Price, Usage
from runtime.core.machine import Refused, settle
from runtime.core.messages import Resumed, Woken
from runtime.models.port import Fault, Reply
from tests.support.planning_start import planning_start

SECTIONS = {
    name: f"[{name}]" for name in Sections.model_fields if name not in ("dependency", "question", "escalation", "retry")
} | {
    "dependency": "[dependency {step}]",
    "attachment": "[file {number}]",
    "question": "[question {number}]",
    "escalation": "[escalation {number}]",
    "retry": "[retry {number}]",
    "data_open": "<{mark}",
    "data_close": "{mark}>",
    "cut": "[cut {bytes}]",
    "repeats": "[repeats {node}]",
}
"""The shortest valid sections of a prompt book."""

ENTRY = PromptEntry(
    role="role",
    constraints="constraints",
    task="task",
    feedback_wrapper="RETRY {feedback}",
    escalation_feedback_wrapper="ESCALATION {feedback}",
)


@cache
def shipped_policy(name: str) -> Policy:
    text = (data_root() / "configs" / "policies" / f"{name}.yaml").read_text()
    return Policy.model_validate(yaml.safe_load(text))


def default_policy() -> Policy:
    return shipped_policy("default")


def pinned(
    steps: Mapping[str, Mapping[str, Any]],
    *,
    price: Price | None = None,
    policy: str = "default",
    no_input: bool = False,
    **keys: Any,
) -> RunConfig:
    pairs = {step: {"generator": "model", "guard": "toy", **settings} for step, settings in steps.items()}
    workflow = Workflow.model_validate({"name": "toy", "action_pairs": pairs, **keys})
    book = PromptBook(entries=dict.fromkeys((*steps, CLASSIFIER), ENTRY), sections=Sections.model_validate(SECTIONS))
    child_names = {pair["generator"].removeprefix("workflow:") for pair in pairs.values() if ":" in pair["generator"]}
    children = {name: pinned({"only": {}}) for name in child_names}
    return RunConfig(
        workflow=workflow,
        policy=shipped_policy(policy),
        prompts=book,
        model="toy",
        price=price,
        children=children,
        no_input=no_input,
    )


SEEDS = {
    "g_analysis": {"rmax": 2, "backtrack_budget": 1, "role": "analysis"},
    "g_recon": {"rmax": 2, "backtrack_budget": 2, "role": "recon"},
    "g_strategy": {"requires": ["g_analysis", "g_recon"], "rmax": 2, "backtrack_budget": 3, "role": "strategy"},
    "g_plan": {"requires": ["g_analysis", "g_recon", "g_strategy"], "rmax": 3, "role": "plan"},
}
"""The steps and budgets of the shipped `search` workflow."""


def passed(guard: str = "toy") -> Verdict:
    return Verdict(guard=guard, passed=True, score=1.0)


def rejected(*codes: str, where: str = "", fatal: bool = False, guard: str = "toy") -> Verdict:
    findings = tuple(Finding(code=code, message=f"{code} is wrong", where=where) for code in codes)
    return Verdict(guard=guard, passed=False, score=0.0, findings=findings, fatal=fatal)


Judge = Callable[[JudgementRequested, State], Verdict]
Author = Callable[[GenerationRequested | ClassificationRequested, State], Reply | Fault]


def some_reply(request: GenerationRequested | ClassificationRequested, _: State) -> Reply:
    """Return a reply that differs for each request."""
    return Reply(
        text=json.dumps({"by": request.request_id}), usage=Usage(input_tokens=10, output_tokens=5), model="toy"
    )


def start_anywhere(machine: PlanningMachine, events: Sequence[PlanningEvent], epoch: int, now: float) -> None:
    """Resume from every prefix of a journal: each must be finished or have outstanding work."""
    prefix = machine.initial()
    for length, event in enumerate(events, start=1):
        prefix = machine.evolve(prefix, event)
        accepted = machine.accept(prefix, Resumed(epoch, now))
        end = prefix.run.finished
        undone = prefix.run.undoes_end(at_once=False)
        assert (accepted is None) == (end is not None and not undone)
        if accepted is not None:
            assert not isinstance(accepted, Refused)
            state, _ = settle(machine, prefix, accepted)
            goes_on = state.run.finished is not None or machine.outstanding(state) or state.run.parked
            assert goes_on or state.run.renewing, f"stuck after {length} events"


@dataclass
class World:
    """Answers the requests of one run on the pure machine, one message at a time. `calls` counts requests per step."""

    config: RunConfig
    judge: Judge
    author: Author = some_reply
    limits: Limits = field(default_factory=lambda: Limits(calls=1000))
    machine: PlanningMachine = field(default_factory=PlanningMachine)
    state: PlanningState = field(default_factory=NotStarted)
    events: list[PlanningEvent] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    now: float = 1000.0

    def send(self, message: RunMessage) -> list[PlanningEvent] | Refused | None:
        """Give the machine one message, and let it advance until it rests."""
        accepted = self.machine.accept(self.state, message)
        if accepted is None or isinstance(accepted, Refused):
            return accepted
        self.state, events = settle(self.machine, self.state, accepted)
        self.events += events
        return events

    def begin(self, specification: str = "the problem") -> None:
        self.send(planning_start(self.now, self.config, problem=specification, limits=self.limits))

    def answer(self, request_id: str) -> None:
        """Carry out one outstanding generation, judgement or wait."""
        work = self.machine.outstanding(self.state)[request_id]
        self.now += 1.0
        match work.request:
            case GenerationRequested() | ClassificationRequested() as request:
                self.calls[request.step] += 1
                reply = self.author(request, self.state)
                kind = Faulted if isinstance(reply, Fault) else Generated
                self.send(kind(request_id, self.now, 1.0, reply))  # type: ignore[arg-type]
            case JudgementRequested() as request:
                self.send(Judged(request_id, self.now, 0.0, self.judge(request, self.state)))
            case _:
                self.now = max(self.now, work.request.until)
                self.send(Woken(request_id, self.now))

    def run(self, choose: Callable[[list[str]], str] = lambda ids: ids[0]) -> State:
        """Begin, and answer outstanding work until only people could answer."""
        if isinstance(self.state, NotStarted):
            self.begin()
        while self.state.run.finished is None and (ids := self.doable()):
            self.answer(choose(ids))
        return self.state

    def doable(self) -> list[str]:
        """Return the ids of outstanding work except questions; the wait for the deadline only if it is alone."""
        work = self.machine.outstanding(self.state)
        ids = [name for name, item in work.items() if item.address != "user" and name != "deadline"]
        return ids or [name for name in work if name == "deadline"]

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def requested(self, steps: Iterable[str] | None = None) -> list[str]:
        return [
            event.request_id
            for event in self.events
            if isinstance(event, GenerationRequested) and (steps is None or event.step in steps)
        ]


async def always_hosted(engine, kind, format):
    """Replace `Engine.has_host` in a test without a host process."""
    return True
