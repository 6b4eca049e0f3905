"""Prepares an experiment about executions, and runs its trials, in processes where there are many."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from pydantic import Field

from actors.config.policy_loader import load_policy
from actors.execution.events import AttemptDecided, TroubleDecided
from actors.execution.prepare import ExecutionInput, prepare_execution
from actors.planning.config import RunConfig
from actors.planning.prepare import PlanningInput, prepare_planning
from actors.run.kind import Setup
from actors.simulated.tool_task import token_of
from replan.experiments.execution_definition import ExecutionExperiment, ExecutionPolicy, load_execution_experiment
from replan.experiments.execution_lab import ExecutionSetup, SimulatedExecution
from replan.experiments.preparation import Installation
from replan.setup.gc_tuning import tune
from runtime.core.events import Value

PROBLEM = "Achieve every goal."
"""The problem that the planning runs of simulated replans would be about."""
CHUNK = 16
"""Trials per task of a worker process."""


class ExecutionTrial(Value):
    """What came of one trial: a line of the file of results."""

    policy: str
    """The policy's name."""
    world: str
    """The world's name."""
    seed: int
    """The seed."""
    outcome: str
    """The outcome of the run."""
    goals: int
    """The goals of the task."""
    achieved: int
    """The goals that hold in truth at the end."""
    reported: int
    """The goals whose tokens hold at the end, whether or not they hold in truth."""
    tool_calls: int
    """The calls of tools and checks."""
    replans: int
    """The replans."""
    questions: int
    """The questions to a person, those about interrupted calls included."""
    seconds: float
    """The simulated time, waiting for people included."""
    rules: Mapping[str, int] = Field(default_factory=dict)
    """The number of decisions, by row of the policy."""


@dataclass(frozen=True)
class PreparedExecutions:
    """An experiment about executions, checked and ready to run."""

    experiment: ExecutionExperiment
    """Its definition."""
    setups: Mapping[tuple[str, str], ExecutionSetup]
    """The setup of each policy in each world, by their names."""

    @property
    def trials(self) -> list[tuple[str, str, int]]:
        """The trials (policy, world, seed) in their order."""
        return [(*names, seed) for seed in self.experiment.seeds.all for names in self.setups]


def prepare_executions(path: Path, installation: Installation) -> PreparedExecutions:
    """Return the experiment in a file. Raises `UsageProblem` for the first thing that is wrong, with its place."""
    experiment, _ = load_execution_experiment(path)
    setup = Setup("rules", None, installation.registry, installation.root, {}, 0.0)
    planning = prepare_planning(PlanningInput(PROBLEM), setup).pinned
    assert isinstance(planning, RunConfig)
    setups = {}
    for policy in experiment.policies:
        prepared = prepare_execution(_input(experiment, policy, planning, installation.root, path.parent), setup)
        for world in experiment.worlds:
            setups[policy.name, world.name] = ExecutionSetup(
                prepared.config, prepared.limits, experiment.task, world, experiment.by_hand
            )
    return PreparedExecutions(experiment, setups)


def _input(
    experiment: ExecutionExperiment, policy: ExecutionPolicy, planning: RunConfig, root: Path, folder: Path
) -> ExecutionInput:
    return ExecutionInput(
        plan=experiment.task.plan({}),
        tools=experiment.task.tools(0, 0.0),
        workspace=root,
        approval="none",
        snapshots=False,
        problem=PROBLEM,
        planning=planning,
        policy=load_policy(policy.policy, root, folder),
        replans_max=policy.replans_max,
        questions_max=policy.questions_max,
    )


def run_trial(prepared: PreparedExecutions, trial: tuple[str, str, int]) -> ExecutionTrial:
    """Simulate a trial, and return its result."""
    policy, world, seed = trial
    simulated = SimulatedExecution(prepared.setups[policy, world], seed)
    state, task = simulated.run(), prepared.experiment.task
    assert state.run.finished is not None, "a simulated execution runs to its end"
    decisions = (event.rule for event in simulated.events if isinstance(event, AttemptDecided | TroubleDecided))
    return ExecutionTrial(
        policy=policy,
        world=world,
        seed=seed,
        outcome=str(state.run.finished.outcome),
        goals=task.goals,
        achieved=task.achieved(simulated.world.done),
        reported=task.achieved([step for step in task.step_ids() if token_of(step) in state.tokens]),
        tool_calls=simulated.world.calls,
        replans=state.replans,
        questions=len(state.run.questions),
        seconds=round(simulated.now, 3),
        rules=dict(sorted(Counter(decisions).items())),
    )


def run_trials(
    prepared: PreparedExecutions, on_trial: Callable[[int, int], None], jobs: int | None = None
) -> list[ExecutionTrial]:
    """Run all trials, in `jobs` processes (default: one per core); return them in their order."""
    trials: list[ExecutionTrial] = []
    on_trial(0, len(prepared.trials))
    for trial in _simulate(prepared, jobs or len(os.sched_getaffinity(0))):
        trials.append(trial)
        on_trial(len(trials), len(prepared.trials))
    return trials


def _simulate(prepared: PreparedExecutions, jobs: int) -> Iterator[ExecutionTrial]:
    trials, run = prepared.trials, partial(run_trial, prepared)
    if jobs == 1 or len(trials) <= CHUNK:
        yield from map(run, trials)
        return
    context = get_context("spawn")  # A forked process would inherit locks of the event loop's and journal's threads.
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker, initargs=(prepared,)) as pool:
        try:
            yield from pool.map(_run_in_worker, trials, chunksize=CHUNK)
        finally:
            pool.shutdown(cancel_futures=True)


_prepared: PreparedExecutions | None = None
"""The experiment of a worker process, set when the process starts."""


def _begin_worker(prepared: PreparedExecutions) -> None:
    global _prepared  # noqa: PLW0603 -- the initializer of a pool's process has no other way to pass a value on
    _prepared = prepared
    tune()


def _run_in_worker(trial: tuple[str, str, int]) -> ExecutionTrial:
    assert _prepared is not None
    return run_trial(_prepared, trial)
