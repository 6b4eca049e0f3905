"""Running an experiment: trials side by side, written in their order, within a budget, from where it stopped."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from replan.experiments.preparing import Prepared
from replan.experiments.results import Store, Trial
from replan.setup.gc_tuning import tune
from runtime.core.cost import MICRO

OnTrial = Callable[[int, int], None]
"""Told after every trial: how many are done, and of how many."""

CHUNK = 16
"""Trials that a process takes at a time: enough to make handing them over cheap."""


@dataclass
class Purse:
    """What is left of the experiment's budget. Trials are counted in their order, so the end is always the same one."""

    prepared: Prepared
    calls: int = 0
    micro_usd: int = 0

    def book(self, trial: Trial) -> None:
        """Count a trial that was made."""
        self.calls += trial.calls
        self.micro_usd += trial.micro_usd or 0

    def allows(self, place: int, open_calls: int = 0) -> bool:
        """Tell whether the trial at a place of the order may begin, if as many calls as this may still be made."""
        budget = self.prepared.experiment.budget
        most = self.prepared.order[place][0].calls_max
        enough = budget.calls is None or self.calls + open_calls + most <= budget.calls
        return enough and (budget.usd is None or self.micro_usd < budget.usd * MICRO)


_prepared: Prepared | None = None
"""What a worker process works on; set once, when it begins."""


def _begin(prepared: Prepared) -> None:
    global _prepared  # noqa: PLW0603 -- a process of a pool has no other place
    _prepared = prepared
    tune()


def _play(place: int) -> Trial:
    assert _prepared is not None
    arm, problem, seed = _prepared.order[place]
    return arm.lab_trial(problem, seed)


def run_simulated(prepared: Prepared, store: Store, on_trial: OnTrial, jobs: int | None = None) -> list[Trial]:
    """Play the trials that are still to be played, in processes; return all of them, in their order."""
    order = prepared.order
    trials = store.begin(order_key(prepared))
    purse = Purse(prepared)
    for trial in trials:
        purse.book(trial)
    on_trial(len(trials), len(order))
    for trial in _played(prepared, len(trials), jobs or len(os.sched_getaffinity(0))):
        if not purse.allows(len(trials)):
            break
        purse.book(trial)
        store.append(trial)
        trials.append(trial)
        on_trial(len(trials), len(order))
    return trials


def _played(prepared: Prepared, first: int, jobs: int) -> Iterator[Trial]:
    places = range(first, len(prepared.order))
    if jobs == 1 or len(places) <= CHUNK:
        _begin(prepared)
        yield from map(_play, places)
        return
    context = get_context("spawn")  # A fork would take the loop's and the journal's threads for its own.
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(prepared,)) as pool:
        try:
            yield from pool.map(_play, places, chunksize=CHUNK)
        finally:
            pool.shutdown(cancel_futures=True)


def order_key(prepared: Prepared) -> Iterator[tuple[str, str, int]]:
    """Yield the names of the trials, in their order."""
    return ((arm.name, problem.name, seed) for arm, problem, seed in prepared.order)
