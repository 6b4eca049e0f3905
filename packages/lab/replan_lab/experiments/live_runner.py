"""Runs an experiment on real models: each trial is a run in a journal, so an interrupted call is not paid for twice."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import trio

from actors.planning.events import PlanningEvent
from actors.run.ending import end_exhausted_run
from replan.runs.engine import Engine
from replan.runs.home import open_home
from replan_lab.experiments.definition import ExperimentProblem
from replan_lab.experiments.preparation import PreparedArm, PreparedExperiment
from replan_lab.experiments.results import CUT_SHORT, ResultsFolder, Trial, trial_from
from replan_lab.experiments.runner import ExperimentProgress, OnTrial
from runtime.core.errors import RunExists, RunNotFound, UsageProblem
from runtime.core.events import text_hash
from runtime.core.ledger import Limit

RUNS = "runs"
"""The name of the folder, in the folder of the results, that contains the journal of the runs."""


async def run_live(
    prepared: PreparedExperiment, store: ResultsFolder, on_trial: OnTrial, environment: Mapping[str, str]
) -> list[Trial]:
    """Run the trials without a result, and continue interrupted trials. Return all trials, in order.

    Raises:
        UsageProblem: the provider refuses the calls of a trial. The provider would then refuse the other trials too.
    """
    progress = ExperimentProgress(prepared, store, on_trial)
    open_trials, results = _OpenTrials(progress), progress.trials
    home = {**environment, "REPLAN_HOME": str(store.folder / RUNS)}
    async with (
        open_home(registry=prepared.arms[0].registry, environment=home) as engine,
        trio.open_nursery() as nursery,
    ):
        slots = trio.Semaphore(1 if progress.exact else prepared.experiment.concurrency)
        for position in range(len(results), len(prepared.trials)):
            await slots.acquire()
            if not await open_trials.may_begin(position) or (results and results[-1].outcome == CUT_SHORT):
                break
            nursery.start_soon(_run_trial, replace(engine, learns=False), open_trials, position, slots)
    return results


def _run_of(arm: PreparedArm, problem: ExperimentProblem, seed: int) -> str:
    return f"t{text_hash(f'{arm.name} {problem.name} {seed}')[:12]}"


async def read_runs(prepared: PreparedExperiment, store: ResultsFolder) -> list[list[PlanningEvent]]:
    """Return the events of the run of each trial that has begun, in the order of the trials."""
    home = {"REPLAN_HOME": str(store.folder / RUNS)}
    runs = list[list[PlanningEvent]]()
    async with open_home(registry=prepared.arms[0].registry, environment=home, make=False) as engine:
        for trial in prepared.trials:
            with suppress(RunNotFound):
                _, records = await engine.load(_run_of(*trial))
                runs.append([record.event for record in records])
    return runs


@dataclass
class _OpenTrials:
    """Concurrent trials, whose results are written in the order of the trials."""

    progress: ExperimentProgress
    waiting: dict[int, Trial] = field(default_factory=dict)
    """The finished trials that cannot be written before an earlier trial, by position."""
    calls: dict[int, int] = field(default_factory=dict)
    """The call limits of the trials that are not yet written, by position."""
    changed: trio.Event = field(default_factory=trio.Event)

    async def may_begin(self, position: int) -> bool:
        while not self.progress.allows(position, sum(self.calls.values())):
            if not self.calls:
                return False
            await self.changed.wait()
        self.calls[position] = self.progress.prepared.trials[position][0].calls_max
        return True

    def add(self, position: int, trial: Trial) -> None:
        self.waiting[position] = trial
        while (first := len(self.progress.trials)) in self.waiting:
            self.calls.pop(first)
            self.progress.add(self.waiting.pop(first))
        self.changed.set()
        self.changed = trio.Event()


async def _run_trial(engine: Engine, open_trials: _OpenTrials, position: int, slots: trio.Semaphore) -> None:
    progress = open_trials.progress
    arm, problem, seed = progress.prepared.trials[position]
    if arm.profile is not None:
        trial = arm.lab_trial(problem, seed)
    else:
        run = _run_of(arm, problem, seed)
        request = progress.limit_request(arm.request_for(problem))
        try:
            result = await engine.begin(request, run=run)
        except RunExists:
            result = await engine.resume(run)
        if result.cause == "provider":
            raise UsageProblem(f"the provider ended the run: {result.why}", place=f"{arm.name} on {problem.name}")
        state, records = await engine.load(run)
        trial = trial_from(arm.name, problem, seed, (state, [record.event for record in records]), None)
        out_of_money = end_exhausted_run(Limit.COST)
        if progress.exact and (result.outcome, result.why) == (out_of_money.outcome, out_of_money.why):
            trial = trial.model_copy(update={"outcome": CUT_SHORT})
    open_trials.add(position, trial)
    slots.release()
