"""Simulated trials per second of processor time.

    python benchmarks/bench_lab.py [--trials N]

In one process. For each search: the default workflow, the profile `base`, at most thirty calls. Depth-first and
iterative deepening go by the belief, the others by rows. For each published experiment: a random sample of its trials.
The last row is the rate for all experiments together.
"""

import argparse
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import HERE, provenance_of, table, write

from actors.planning import rules as decisions
from actors.planning.prepare import PlanningInput, RunOptions
from actors.policy.decision import decide
from replan.runs.prepare import RunOrder
from replan.runs.prepare import prepare as prepare_run
from replan.setup.installation import data_root, tune
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_lab.experiments.preparation import Installation, prepare
from replan_lab.experiments.simulation import LabSetup, simulate_run
from replan_lab.simulated.profile import load_profile

GOAL_CALL, GOAL_DECISION = 0.30, 0.20
"""Milliseconds of a simulated call, and of a decision by the belief, at most."""
SEARCHES = ("depth_first", "blind", "linear", "best_first", "restart", "iterative_deepening", "beam", "best_of")
PROBLEM = "The login fails with a timeout when the session store is slow."
FIRST_SEED = 1000
GOAL = 100


def make_setup(search):
    """Return the setup of simulated runs with a search."""
    known, model = registry(), "simulated:base"
    job = prepare_run(
        RunOrder(PlanningInput(PROBLEM, RunOptions(search=search)), model),
        config=UserConfig(),
        registry=known,
        environment={},
        now=0.0,
    ).request
    return LabSetup(job.pinned, job.limits, load_profile("base"), known)


def of_search(search, trials):
    """Return the trials per second of a search, and the milliseconds per call."""
    setup, calls = make_setup(search), 0
    simulate_run(setup, PROBLEM, 0)
    started = time.process_time()
    for seed in range(FIRST_SEED, FIRST_SEED + trials):
        state, _ = simulate_run(setup, PROBLEM, seed)
        calls += state.run.ledger.spent.calls
    spent = time.process_time() - started
    return {"trials_per_second": round(trials / spent), "ms_per_call": round(spent / calls * 1e3, 2)}


def of_decisions(trials):
    """Return the milliseconds of a decision by the belief, in the trials of the default search."""
    setup, spent, count = make_setup("depth_first"), 0.0, 0

    def timed(*arguments):
        nonlocal spent, count
        started = time.process_time()
        decision = decide(*arguments)
        if decision.weighing is not None:
            spent, count = spent + time.process_time() - started, count + 1
        return decision

    decisions.decide = timed
    try:
        for seed in range(FIRST_SEED, FIRST_SEED + trials):
            simulate_run(setup, PROBLEM, seed)
    finally:
        decisions.decide = decide
    return {"decisions": count, "ms_per_decision": round(spent / count * 1e3, 3)}


def of_experiment(path, trials):
    """Return the number of trials of an experiment, and its trials per second."""
    prepared = prepare(path, Installation(registry({}, {}), data_root(), UserConfig(), {}, 0.0))
    sample = Random(0).sample(prepared.trials, min(trials, len(prepared.trials)))
    for arm, problem, seed in {arm.name: (arm, problem, seed) for arm, problem, seed in sample}.values():
        arm.lab_trial(problem, seed)  # What an arm computes only once is not measured.
    started = time.process_time()
    for arm, problem, seed in sample:
        arm.lab_trial(problem, seed)
    spent = time.process_time() - started
    return {"trials": len(prepared.trials), "trials_per_second": round(len(sample) / spent)}


def tables(results, *, every=False):
    """Return the results as tables: of the experiments all, or those that miss the goal, and the sum."""
    searches = [
        (
            name,
            result["trials_per_second"],
            _verdict(result["trials_per_second"]),
            _least(result["ms_per_call"], GOAL_CALL),
        )
        for name, result in results["searches"].items()
    ]
    belief = results["belief"]
    decision = (f"{belief['decisions']:,}", _least(belief["ms_per_decision"], GOAL_DECISION))
    experiments = [
        (name, f"{result['trials']:,}", result["trials_per_second"], _verdict(result["trials_per_second"]))
        for name, result in results["experiments"].items()
        if every or name == "all" or result["trials_per_second"] < GOAL
    ]
    return (
        "Simulated trials in a second of one core, for each search:\n\n"
        + table(["search", "trials per second", "goal", "ms per call, goal"], searches)
        + "\n\nA decision by the belief, in the trials of depth-first:\n\n"
        + table(["decisions", "ms per decision"], [decision])
        + f"\n\nTrials of the published experiments{'' if every else ', and those that miss the goal'}:\n\n"
        + table(["experiment", "trials", "trials per second", "goal"], experiments)
    )


def _least(milliseconds, goal):
    return f"{milliseconds:g} (at most {goal:g}: {'met' if milliseconds <= goal else '**missed**'})"


def _verdict(rate):
    return f"at least {GOAL}: {'met' if rate >= GOAL else '**missed**'}"


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100, help="trials for each search (100), thrice for experiments")
    options = parser.parse_args()
    results = provenance_of("pydantic", "pydantic-core", "orjson")
    tune()
    results["searches"] = {search: of_search(search, options.trials) for search in SEARCHES}
    results["belief"] = of_decisions(options.trials)
    paths = sorted((HERE.parent / "docs" / "experiments").glob("*.yaml"))
    experiments = {path.stem: of_experiment(path, 3 * options.trials) for path in paths}
    trials = sum(result["trials"] for result in experiments.values())
    seconds = sum(result["trials"] / result["trials_per_second"] for result in experiments.values())
    results["experiments"] = experiments | {"all": {"trials": trials, "trials_per_second": round(trials / seconds)}}
    print(tables(results, every=True))
    write("lab", results)


if __name__ == "__main__":
    main()
