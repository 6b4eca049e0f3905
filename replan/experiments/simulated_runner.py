"""Runs the trials of a simulated experiment in processes, within its budget; continues an interrupted experiment."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from replan.experiments.experiment_budget import ExperimentBudget
from replan.experiments.preparation import PreparedExperiment
from replan.experiments.results import Store, Trial
from replan.setup.gc_tuning import tune

OnTrial = Callable[[int, int], None]
"""Called before the first trial and after every trial, with the number of finished trials and of all trials."""

CHUNK = 16
"""Trials per task of a worker process, so that the cost of passing tasks is small."""


_prepared: PreparedExperiment | None = None
"""The experiment of a worker process, set when the process starts."""


def _initialize_worker(prepared: PreparedExperiment) -> None:
    global _prepared  # noqa: PLW0603 -- the initializer of a pool's process has no other way to pass a value on
    _prepared = prepared
    tune()


def _run_trial(position: int) -> Trial:
    assert _prepared is not None
    arm, problem, seed = _prepared.trials[position]
    return arm.lab_trial(problem, seed)


def run_simulated(
    prepared: PreparedExperiment, store: Store, on_trial: OnTrial, jobs: int | None = None
) -> list[Trial]:
    """Run the trials without a result, in `jobs` processes (default: one per core); return all, in their order."""
    total = len(prepared.trials)
    results = store.begin(prepared.trial_keys())
    budget = ExperimentBudget(prepared)
    for trial in results:
        budget.add(trial)
    on_trial(len(results), total)
    for trial in _simulate(prepared, len(results), jobs or len(os.sched_getaffinity(0))):
        if not budget.allows(len(results)):
            break
        budget.add(trial)
        store.append(trial)
        results.append(trial)
        on_trial(len(results), total)
    return results


def _simulate(prepared: PreparedExperiment, first: int, jobs: int) -> Iterator[Trial]:
    """Yield the trials from position `first` on, in their order."""
    positions = range(first, len(prepared.trials))
    if jobs == 1 or len(positions) <= CHUNK:
        _initialize_worker(prepared)
        yield from map(_run_trial, positions)
        return
    context = get_context("spawn")  # A forked process would inherit locks of the event loop's and journal's threads.
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_initialize_worker, initargs=(prepared,)) as pool:
        try:
            yield from pool.map(_run_trial, positions, chunksize=CHUNK)
        finally:
            pool.shutdown(cancel_futures=True)
