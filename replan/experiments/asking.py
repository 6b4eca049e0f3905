"""Running an experiment on real models: each trial is a run in a journal, so no answer is paid for twice."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import trio

from replan.experiments.measuring import Key, trial_of
from replan.experiments.preparing import Prepared
from replan.experiments.results import Store, Trial
from replan.experiments.running import OnTrial, Purse, order_key
from replan.runs.engine import Engine
from replan.runs.home import open_home
from runtime.core.errors import RunExists, UsageProblem
from runtime.core.events import text_hash

RUNS = "runs"
"""The folder beside the results that holds the journal of their runs."""


async def run_asked(prepared: Prepared, store: Store, on_trial: OnTrial, environment: Mapping[str, str]) -> list[Trial]:
    """Make the trials that are still to be made, and go on with those that were interrupted; return all of them.

    Raises `UsageProblem` when a trial ends because the provider refuses: what it would say of the others is known.
    """
    trials = store.begin(order_key(prepared))
    desk = _Desk(prepared, store, on_trial, trials, Purse(prepared))
    for trial in trials:
        desk.purse.book(trial)
    on_trial(len(trials), len(prepared.order))
    known = prepared.arms[0].registry
    home = {**environment, "REPLAN_HOME": str(store.folder / RUNS)}
    async with (
        open_home(registry=known, environment=home) as engine,
        trio.open_nursery() as nursery,
    ):
        places = trio.Semaphore(prepared.experiment.concurrency)
        for place in range(len(trials), len(prepared.order)):
            await places.acquire()
            if not await desk.may_begin(place):
                break
            nursery.start_soon(_one, engine, desk, place, places)
    return trials


@dataclass
class _Desk:
    """Where trials are handed in: they are written in their order, whichever comes first."""

    prepared: Prepared
    store: Store
    on_trial: OnTrial
    trials: list[Trial]
    purse: Purse
    waiting: dict[int, Trial] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)
    news: trio.Event = field(default_factory=trio.Event)

    async def may_begin(self, place: int) -> bool:
        """Tell whether a trial may begin; wait for those under way if that depends on what they use."""
        while not self.purse.allows(place, sum(self.begun.values())):
            if not self.begun:
                return False
            await self.news.wait()
        self.begun[place] = self.prepared.order[place][0].calls_max
        return True

    def hand_in(self, place: int, trial: Trial) -> None:
        """Take a trial; write all that now stand in a row."""
        self.waiting[place] = trial
        while len(self.trials) in self.waiting:
            done = len(self.trials)
            self.trials.append(self.waiting.pop(done))
            self.purse.book(self.trials[-1])
            self.begun.pop(done)
            self.store.append(self.trials[-1])
            self.on_trial(len(self.trials), len(self.prepared.order))
        self.news.set()
        self.news = trio.Event()


async def _one(engine: Engine, desk: _Desk, place: int, places: trio.Semaphore) -> None:
    arm, problem, seed = desk.prepared.order[place]
    if arm.profile is not None:
        desk.hand_in(place, arm.lab_trial(problem, seed))
        places.release()
        return
    run = f"t{text_hash(f'{arm.name} {problem.name} {seed}')[:12]}"
    try:
        result = await engine.begin(arm.job_for(problem), run=run)
    except RunExists:
        result = await engine.resume(run)
    if result.cause == "provider":
        raise UsageProblem(f"the provider ended it: {result.why}", place=f"{arm.name} on {problem.name}")
    state, records = await engine.load(run)
    events = [record.event for record in records]
    desk.hand_in(place, trial_of(Key(arm.name, problem.name, problem.category, seed), state, events, None))
    places.release()
