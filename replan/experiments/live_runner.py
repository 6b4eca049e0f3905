"""Runs an experiment on real models: each trial is a run in a journal, so an interrupted call is not paid for twice."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import trio

from actors.run.ending import exhausted
from replan.experiments.experiment_budget import ExperimentBudget
from replan.experiments.preparation import PreparedExperiment
from replan.experiments.results import CUT_SHORT, Store, Trial
from replan.experiments.simulated_runner import OnTrial
from replan.experiments.trial_metrics import TrialKey, trial_from
from replan.runs.engine import Engine
from replan.runs.home import open_home
from runtime.core.errors import RunExists, UsageProblem
from runtime.core.events import text_hash
from runtime.core.ledger import Limit

RUNS = "runs"
"""The folder beside the results that contains the journal of the runs."""


async def run_live(
    prepared: PreparedExperiment, store: Store, on_trial: OnTrial, environment: Mapping[str, str]
) -> list[Trial]:
    """Run the trials that have no result yet, and continue interrupted ones; return all, in their order.

    Raises:
        UsageProblem: the provider refuses the calls of a trial, as it would those of the others.
    """
    results = store.begin(prepared.trial_keys())
    writer = _TrialWriter(prepared, store, on_trial, results, ExperimentBudget(prepared))
    for trial in results:
        writer.budget.add(trial)
    on_trial(len(results), len(prepared.trials))
    registry = prepared.arms[0].registry
    home = {**environment, "REPLAN_HOME": str(store.folder / RUNS)}
    async with (
        open_home(registry=registry, environment=home) as engine,
        trio.open_nursery() as nursery,
    ):
        slots = trio.Semaphore(1 if writer.budget.exact else prepared.experiment.concurrency)
        for position in range(len(results), len(prepared.trials)):
            await slots.acquire()
            if not await writer.may_begin(position) or (results and results[-1].outcome == CUT_SHORT):
                break
            nursery.start_soon(_run_trial, engine, writer, position, slots)
    return results


@dataclass
class _TrialWriter:
    """Writes the results of concurrent trials in the order of the trials."""

    prepared: PreparedExperiment
    store: Store
    on_trial: OnTrial
    results: list[Trial]
    """The results written so far, in the order of the trials; those from before an interruption come first."""
    budget: ExperimentBudget
    """The budget, less what these results have used."""
    waiting: dict[int, Trial] = field(default_factory=dict)
    """Finished trials that wait for an earlier one, by position."""
    open_calls: dict[int, int] = field(default_factory=dict)
    """The call limits of the trials that are not yet written, by position."""
    changed: trio.Event = field(default_factory=trio.Event)
    """Set, and replaced, whenever a trial has finished."""

    async def may_begin(self, position: int) -> bool:
        """Return whether a trial may begin; wait for those under way if it depends on what they use."""
        while not self.budget.allows(position, sum(self.open_calls.values())):
            if not self.open_calls:
                return False
            await self.changed.wait()
        self.open_calls[position] = self.prepared.trials[position][0].calls_max
        return True

    def add(self, position: int, trial: Trial) -> None:
        """Take a finished trial, and write every trial whose predecessors are all written."""
        self.waiting[position] = trial
        while len(self.results) in self.waiting:
            first = len(self.results)
            self.results.append(self.waiting.pop(first))
            self.budget.add(self.results[-1])
            self.open_calls.pop(first)
            self.store.append(self.results[-1])
            self.on_trial(len(self.results), len(self.prepared.trials))
        self.changed.set()
        self.changed = trio.Event()


async def _run_trial(engine: Engine, writer: _TrialWriter, position: int, slots: trio.Semaphore) -> None:
    arm, problem, seed = writer.prepared.trials[position]
    if arm.profile is not None:
        writer.add(position, arm.lab_trial(problem, seed))
        slots.release()
        return
    run = f"t{text_hash(f'{arm.name} {problem.name} {seed}')[:12]}"
    request = writer.budget.limited(arm.request_for(problem))
    try:
        result = await engine.begin(request, run=run)
    except RunExists:
        result = await engine.resume(run)
    if result.cause == "provider":
        raise UsageProblem(f"the provider ended it: {result.why}", place=f"{arm.name} on {problem.name}")
    state, records = await engine.load(run)
    events = [record.event for record in records]
    key = TrialKey(arm.name, problem.name, problem.category, seed)
    trial = trial_from(key, state, events, None)
    out_of_money = exhausted(Limit.COST)
    if writer.budget.exact and (result.outcome, result.why) == (out_of_money.outcome, out_of_money.why):
        trial = trial.model_copy(update={"outcome": CUT_SHORT})
    writer.add(position, trial)
    slots.release()
