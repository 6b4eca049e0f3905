"""Runs the trials of a simulated experiment in processes, within its budget. An interrupted experiment is continued."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from actors.planning.prepare import RunRequest
from replan.setup.installation import tune
from replan_lab.experiments.preparation import PreparedExperiment
from replan_lab.experiments.results import ResultsFolder, Trial
from runtime.core.ledger import MICRO, micro_limit

OnTrial = Callable[[int, int], None]
"""A function that is called before the first trial and after every trial. Its arguments are the number of finished
trials and the number of all trials."""

CHUNK = 16
"""The number of trials in one task of a worker process. So many trials per task make the cost of passing tasks
small."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class SimulatedExperiment(Protocol[T_co]):
    """An experiment about plans or executions whose trials are all simulated."""

    @property
    def trials(self) -> Sequence[object]:
        """The trials, in order."""

    def run_trial(self, position: int) -> T_co:
        """Simulate the trial at a position, and return its result."""


_experiment: SimulatedExperiment[Any] | None = None


def _begin_worker(experiment: SimulatedExperiment[Any]) -> None:
    global _experiment  # noqa: PLW0603 -- the initializer of a pool's process has no other way to pass a value on
    _experiment = experiment
    tune()


def _run_in_worker(position: int) -> Any:
    assert _experiment is not None
    return _experiment.run_trial(position)


def _simulated_trials(experiment: SimulatedExperiment[T], first: int = 0, jobs: int | None = None) -> Iterator[T]:
    """Simulate the trials from position `first` on, in `jobs` processes (default: one per core).

    Yield their results in order.
    """
    positions = range(first, len(experiment.trials))
    jobs = jobs or len(os.sched_getaffinity(0))
    if jobs == 1 or len(positions) <= CHUNK:  # Starting processes is not worth it for a chunk or less.
        tune()
        yield from map(experiment.run_trial, positions)
        return
    context = get_context("spawn")  # A forked process would inherit locks of the event loop's and journal's threads.
    with ProcessPoolExecutor(jobs, context, _begin_worker, (experiment,)) as pool:
        try:
            yield from pool.map(_run_in_worker, positions, chunksize=CHUNK)
        finally:
            pool.shutdown(cancel_futures=True)


def run_all(experiment: SimulatedExperiment[T], on_trial: OnTrial, jobs: int | None = None) -> list[T]:
    """Run all trials of an experiment without a results folder. Return the trials in order."""
    trials: list[T] = []
    on_trial(0, len(experiment.trials))
    for trial in _simulated_trials(experiment, jobs=jobs):
        trials.append(trial)
        on_trial(len(trials), len(experiment.trials))
    return trials


def run_simulated(
    prepared: PreparedExperiment, store: ResultsFolder, on_trial: OnTrial, jobs: int | None = None
) -> list[Trial]:
    """Run the trials that have no result yet, in `jobs` processes (default: one per core).

    Return all trials in order.
    """
    progress = ExperimentProgress(prepared, store, on_trial)
    for trial in _simulated_trials(prepared, len(progress.trials), jobs):
        if not progress.allows(len(progress.trials)):
            break
        progress.add(trial)
    return progress.trials


class ExperimentProgress:
    """The finished trials of an experiment, and the part of the budget that they have used.

    The trials are written in order. The budget is charged in the order of the trials, not in the order in which they
    end. So with a spent budget, an experiment always ends at the same trial.
    """

    def __init__(self, prepared: PreparedExperiment, store: ResultsFolder, on_trial: OnTrial) -> None:
        self.prepared, self._store, self._on_trial = prepared, store, on_trial
        self.trials = store.begin((arm.name, problem.name, seed) for arm, problem, seed in prepared.trials)
        self._calls = sum(trial.calls for trial in self.trials)
        self._micro_usd = sum(trial.micro_usd or 0 for trial in self.trials)
        on_trial(len(self.trials), len(prepared.trials))

    def add(self, trial: Trial) -> None:
        """Write the next trial, and count its use of the budget."""
        self._store.append(trial)
        self.trials.append(trial)
        self._calls += trial.calls
        self._micro_usd += trial.micro_usd or 0
        self._on_trial(len(self.trials), len(self.prepared.trials))

    def allows(self, position: int, open_calls: int = 0) -> bool:
        """Return whether the trial at this position may begin.

        `open_calls` is the sum of the limits of the running trials.
        """
        budget = self.prepared.experiment.budget
        most = self.prepared.trials[position][0].calls_max
        enough = budget.calls is None or self._calls + open_calls + most <= budget.calls
        return enough and (budget.usd is None or self._micro_usd < budget.usd * MICRO)

    @property
    def exact(self) -> bool:
        """Whether no trial may spend more than the remaining money."""
        budget = self.prepared.experiment.budget
        return budget.exact and budget.usd is not None

    def limit_request(self, request: RunRequest) -> RunRequest:
        """Return the request for a trial. If the budget is exact, the remaining money is the limit of its run."""
        usd, limits = self.prepared.experiment.budget.usd, request.limits
        if usd is None or not self.exact:
            return request
        left = max(1, micro_limit(usd) - self._micro_usd)
        least = left if limits.micro_usd is None else min(left, limits.micro_usd)
        return replace(request, limits=limits.model_copy(update={"micro_usd": least}))
