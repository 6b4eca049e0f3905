"""Time of a planning step, compared with an earlier commit of this project.

    python benchmarks/bench_before.py [--commit C] [--rounds N] [--runs N]

Checks the earlier commit out into a folder of its own, and runs the same workloads on both trees with the same
interpreter and packages, in interleaved rounds. The goal is that of issue 28: the parts that all kinds of agents share
must not make planning slower.

Prints a table, writes results/before.json.
"""

import argparse
import re
import subprocess
import sys

from bench_steps import STEPS_ALONE, STEPS_MANY, timed
from common import (
    HERE,
    SCRATCH,
    Contestant,
    interleave,
    provenance_of,
    ratios,
    spread,
    spread_text,
    table,
    write,
)

COMMIT = "ab995f53"
"""The commit before the house was made lighter (issue 28)."""
RATIO_MAX = 1.05
"""The largest ratio of now to before that counts as equal (issue 28)."""
MACHINE_RUNS = 300
"""Runs of ten steps in one measurement of the pure machine."""


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default=COMMIT, help=f"the earlier commit ({COMMIT})")
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--runs", type=int, default=60, help="concurrent runs (60)")
    options = parser.parse_args()
    trees = {"before": checkout(options.commit), "now": HERE.parent}
    results = {
        **provenance_of(peers=False),
        "before": options.commit,
        "rounds": options.rounds,
        "cases": {title: compare(measure, trees, options.rounds) for title, measure in cases(options.runs).items()},
    }
    print(tables(results))
    write("before", results)


def checkout(commit):
    """Return the folder of an earlier commit's files, and write them there if it is missing."""
    folder = SCRATCH / f"before-{commit}"
    if not folder.exists():
        folder.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", commit], cwd=HERE.parent, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    return folder


def cases(runs):
    """Return the workloads by title: each measures one tree, in microseconds per step."""
    return {
        "the pure machine": machine,
        "a durable step, one run at a time": lambda tree: chains(tree, 1, STEPS_ALONE),
        f"a durable step, {runs} concurrent runs": lambda tree: chains(tree, runs, STEPS_MANY),
    }


def machine(tree):
    """Measure a step in the pure machine of a tree."""
    command = [sys.executable, tree / "benchmarks" / "bench_machine.py", "--runs", str(MACHINE_RUNS)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True)
    return float(re.search(r"^all +([0-9.]+)", done.stdout, re.MULTILINE)[1])


def chains(tree, runs, steps):
    """Measure a durable step of a tree, in a process of its own."""
    worker = Contestant(sys.executable, tree / "benchmarks" / "worker_replan.py")
    try:
        timed(worker, "chains", runs=runs, steps=steps)  # Warms the process up.
        return timed(worker, "chains", runs=runs, steps=steps)
    finally:
        worker.close()


def compare(measure, trees, rounds):
    """Return the times of both trees and their ratio."""
    times = interleave({name: lambda tree=tree: measure(tree) for name, tree in trees.items()}, rounds)
    return {
        "us_per_step": {name: spread(values) for name, values in times.items()},
        "ratio": ratios(times["now"], times["before"]),
    }


def tables(results):
    """Return the results as Markdown."""
    rows = [
        (title, *(spread_text(case["us_per_step"][name]) for name in ("before", "now")), *judged(case["ratio"]))
        for title, case in results["cases"].items()
    ]
    heads = ("µs per step", f"at {results['before']}", "now", "now : before", f"at most {RATIO_MAX:g}, or covers 1")
    return f"Compared with commit {results['before']}, {results['rounds']} rounds:\n\n{table(heads, rows)}"


def judged(ratio):
    """Return the ratio as a cell, and whether the goal was met."""
    met = ratio["median"] <= RATIO_MAX or ratio["min"] <= 1 <= ratio["max"]
    return spread_text(ratio), "met" if met else "**missed**"


if __name__ == "__main__":
    main()
