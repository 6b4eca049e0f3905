"""How many simulated trials the laboratory plays in a second of processor time, for each search.

    python benchmarks/bench_lab.py [--trials N]

One process, the default workflow, the base profile, thirty calls at most. Wall-clock time on a quiet core is the same.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from actors.simulated.model import load_profile
from replan.data import data_root
from replan.experiments.lab import Bench, play
from replan.job import Asked, make_job
from replan.plugins import registry
from replan.settings import Choice, UserConfig
from runtime.collector import tune
from runtime.models.spec import parse_model_spec

SEARCHES = ("depth_first", "blind", "linear", "best_first", "restart", "iterative_deepening", "beam", "best_of")
PROBLEM = "The login fails with a timeout when the session store is slow."


def bench(search):
    """Return what a search's trials are played with."""
    known, model = registry(), "simulated:base"
    job = make_job(
        PROBLEM,
        Asked(search=search),
        Choice(model, parse_model_spec(model)),
        config=UserConfig(),
        registry=known,
        root=data_root(),
        environment={},
        now=0.0,
    )
    return Bench(job.pinned, job.limits, load_profile("base", data_root()), known)


def main():
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trials", type=int, default=100, help="trials for each search (100)")
    chosen = options.parse_args()
    tune()
    for search in SEARCHES:
        ready, calls = bench(search), 0
        play(ready, PROBLEM, 0)
        started = time.process_time()
        for seed in range(1000, 1000 + chosen.trials):
            state, _ = play(ready, PROBLEM, seed)
            calls += state.ledger.spent.calls
        spent = time.process_time() - started
        print(f"{search:20} {chosen.trials / spent:6.0f} trials/s  {spent / calls * 1e3:5.2f} ms per call")


if __name__ == "__main__":
    main()
