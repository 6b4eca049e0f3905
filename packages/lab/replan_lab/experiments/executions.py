"""Prepares experiments about executions, and simulates executions with simulated tools and a simulated person."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from actors.config.loader import load_policy
from actors.execution.config import ExecutionConfig
from actors.execution.events import AttemptDecided, ExecutionEvent, ExecutionStarted, ReplanRequested, TroubleDecided
from actors.execution.execution_questions import BY_HAND, GIVE_UP, REPLAN, TRY_AGAIN
from actors.execution.machine import PLANNER, PROVER, ExecutionMachine
from actors.execution.prepare import ExecutionInput, prepare_execution
from actors.execution.replan_rules import given_facts, guard_of, prove
from actors.execution.state import ExecutionState, State
from actors.planning.config import RunConfig
from actors.planning.prepare import PlanningInput, prepare_planning
from actors.planning.replanning import UNSUCCESSFUL
from actors.run.calls import Generated, Judged, RunMessage
from actors.run.kind import Setup
from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED, USER, ClarificationRequested
from actors.run.tools import Ended, ToolRequested
from actors.run.waits import CLOCK
from actors.values.findings import Verdict
from replan_lab.experiments.definition import ExecutionExperiment, load_experiment
from replan_lab.experiments.preparation import Installation
from replan_lab.experiments.results import ExecutionTrial
from replan_lab.experiments.simulation import START, simulate
from replan_lab.simulated.tool_world import Task, ToolOdds, ToolWorld, Ways, token_of
from runtime.core.ledger import Amount, Limits
from runtime.core.machine import Machine, Work
from runtime.core.messages import Mailed, Woken
from runtime.models.port import Reply

PROBLEM = "Achieve every goal."
TOOL_SECONDS = 10.0
REPLAN_SECONDS = 60.0
PERSON_SECONDS = 600.0
"""The time, in seconds, until the simulated person answers a question."""
REPLAN_COST = Amount(4, 8_000, 0)
"""The cost of a replan: as many calls and tokens as a planning run with four steps uses."""
MACHINE: Machine[ExecutionState, ExecutionEvent, RunMessage] = ExecutionMachine()

_ANSWERS = (REPLAN, TRY_AGAIN, GIVE_UP)
"""The answers of a person who cannot do the step by hand. The person chooses the first of these answers that the
question offers.
"""


@dataclass(frozen=True)
class ExecutionSetup:
    """The common settings of all trials of a policy in a world."""

    policy: str
    config: ExecutionConfig
    """The configuration of an execution; its plan and its tools are replaced for each trial."""
    limits: Limits
    task: Task
    odds: ToolOdds
    by_hand: float
    """The share of steps that the simulated person can do."""

    def pinned(self, seed: int) -> str:
        """Return the configuration of a trial as JSON."""
        if self.odds.once == 0:
            return self._pinned_text
        tools = self.task.tools(seed, self.odds.once)
        return json.dumps({**self._pinned_fields, "tools": tools.model_dump(mode="json")})

    @cached_property
    def _pinned_fields(self) -> Mapping[str, Any]:
        plan = json.dumps(self.task.plan({}), sort_keys=True)
        tools = self.task.tools(0, 0.0).model_dump(mode="json")
        return {**self.config.model_dump(mode="json"), "plan": plan, "tools": tools}

    @cached_property
    def _pinned_text(self) -> str:
        return json.dumps(self._pinned_fields)

    def trial(self, seed: int) -> ExecutionTrial:
        """Simulate an execution to its end, and return its result."""
        worker, task = _Executor(self, seed), self.task
        first = ExecutionStarted(at=START, run="lab", pinned=self.pinned(seed), limits=self.limits)
        simulation = simulate(MACHINE, worker, first)
        state, world = simulation.state, worker.world
        assert isinstance(state, State)
        assert state.run.finished is not None, "the simulation ended before the execution was finished"
        decisions = (event.rule for event in simulation.events if isinstance(event, AttemptDecided | TroubleDecided))
        return ExecutionTrial(
            policy=self.policy,
            world=self.odds.name,
            seed=seed,
            outcome=str(state.run.finished.outcome),
            goals=task.goals,
            achieved=task.achieved(world.done),
            reported=task.achieved([step for step in task.step_ids() if token_of(step) in state.tokens]),
            tool_calls=world.calls,
            replans=state.replans,
            questions=len(state.run.questions),
            seconds=round(simulation.now, 3),
            rules=dict(sorted(Counter(decisions).items())),
        )


@dataclass(frozen=True)
class PreparedExecutions:
    """A checked experiment about executions, which is ready to run."""

    experiment: ExecutionExperiment
    setups: tuple[ExecutionSetup, ...]

    @cached_property
    def trials(self) -> list[tuple[ExecutionSetup, int]]:
        """The trials in order, each as setup and seed."""
        return [(setup, seed) for seed in self.experiment.seeds.all for setup in self.setups]

    def run_trial(self, position: int) -> ExecutionTrial:
        """Simulate the trial at a position, and return its result."""
        setup, seed = self.trials[position]
        return setup.trial(seed)


def prepare_executions(path: Path, installation: Installation) -> PreparedExecutions:
    """Return the experiment that a file describes. Raises `UsageProblem` with the place of the first error."""
    experiment, _ = load_experiment(path, ExecutionExperiment)
    setup, task = Setup("template:bug", None, installation.registry, installation.root, {}, 0.0), experiment.task
    planning = prepare_planning(PlanningInput(PROBLEM), setup).pinned
    assert isinstance(planning, RunConfig)
    setups = []
    for policy in experiment.policies:
        execution = ExecutionInput(
            plan=task.plan({}),
            tools=task.tools(0, 0.0),
            workspace=installation.root,
            approval="none",
            snapshots=False,
            looks=False,  # Simulated tools have no workspace.
            problem=PROBLEM,
            planning=planning,
            policy=load_policy(policy.policy, installation.root, path.parent),
            replans_max=policy.replans_max,
            questions_max=policy.questions_max,
        )
        prepared = prepare_execution(execution, setup)
        setups += [
            ExecutionSetup(policy.name, prepared.config, prepared.limits, task, world, experiment.by_hand)
            for world in experiment.worlds
        ]
    return PreparedExecutions(experiment, tuple(setups))


class _Executor:
    def __init__(self, setup: ExecutionSetup, seed: int) -> None:
        self.setup = setup
        self.world = ToolWorld(setup.odds, setup.task, seed)
        self._ways = Ways(setup.task)
        self._mail = 0

    def reply(self, state: ExecutionState, work: Work, now: float) -> RunMessage:
        """Return the message that answers a piece of work, with its time."""
        assert isinstance(state, State)
        request_id = work.request_id
        if isinstance(work.request, ToolRequested):
            called = self.world.call(work.request.tool, request_id, now)
            return Ended(request_id, now + TOOL_SECONDS, TOOL_SECONDS, called.outcome, "", called.reason)
        match work.address:
            case address if address == CLOCK:
                assert work.until is not None
                return Woken(request_id, work.until)
            case address if address == PLANNER:
                reply = Reply(self._new_plan(state, work.request), None, "simulated")
                return Generated(request_id, now + REPLAN_SECONDS, REPLAN_SECONDS, reply, REPLAN_COST)
            case address if address == PROVER:
                config, plan = self.setup.config, MACHINE.brief(state, work).artifact.content
                verdict = _prove(self.setup.task, config.level, config.required_assurance, config.r_max, plan)
                return Judged(request_id, now, 0.0, verdict)
            case address if address == USER:
                self._mail += 1
                body = {"kind": "answer", "question": request_id, "answer": self._answer(work.request)}
                return Mailed(self._mail, f"answer-{self._mail}", json.dumps(body), now + PERSON_SECONDS)
            case _:
                raise AssertionError(f"a simulated execution has no actor at the address {work.address}")

    def _new_plan(self, state: State, request: ReplanRequested) -> str:
        assert state.replan is not None, f"the request {request.request_id} came without a replan"
        given = given_facts(state, state.replan)
        plan = self._ways.next_plan(state.replan.trouble.step, given.initial_state or ())
        why = {"outcome": "all_pruned", "why": "no other tool can do the step"}
        return json.dumps({UNSUCCESSFUL: why} if plan is None else plan)

    def _answer(self, question: ClarificationRequested) -> str:
        """Return the simulated person's answer.

        If the question is about a call, the person says what really happened. If it is about a step, the person may do
        the step, or else chooses the first option of `_ANSWERS` that is offered.
        """
        options: list[str] = question.answer_schema["enum"]
        step = question.blocks[0] if question.blocks else ""
        if SUCCEEDED in options:
            return SUCCEEDED if step in self.world.done else FAILED if step in self.world.ran else NOT_RUN
        if BY_HAND in options and self.world.do_by_hand(step, self.setup.by_hand):
            return BY_HAND
        return next(answer for answer in _ANSWERS if answer in options)


@lru_cache(maxsize=4_096)
def _prove(task: Task, level: str, assurance: str, r_max: int, plan: str) -> Verdict:
    """Return the verdict on a plan for a task.

    If several trials have equal plans, only one of these plans is checked.
    """
    return prove(guard_of(level, task.tools(0, 0.0), assurance, r_max), plan)
