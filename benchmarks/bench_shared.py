"""Whether processes that share one journal divide the work, beside LangGraph over one file of checkpoints.

    python benchmarks/bench_shared.py [--rounds N] [--runs N] [--no-peers]

The same step and the same concurrent runs as in bench_steps.py, in one process and in two over one SQLite file, half of
the runs in each. The time is from the first beginning to the last end, divided by all steps. DBOS is left out: its
processes would be executors of one application, which recover each other's work, and that is another thing to measure.

Prints a table, writes results/shared.json.
"""

import argparse
import json
import tempfile

from bench_steps import STEPS_MANY, TEXT_BYTES
from common import SCRATCH, beside_peers, interleave, measured_with, ratios, spread, table, told, write

PROCESSES = 2
CASES = {"replan": "chains", "langgraph": "many"}


def main():
    """Measure, print, write."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    options.add_argument("--runs", type=int, default=100, help="concurrent runs (100)")
    options.add_argument("--no-peers", action="store_true", help="measure only this project")
    chosen = options.parse_args()
    facts = measured_with(peers=not chosen.no_peers)
    workers = [beside_peers(peers=not chosen.no_peers) for _ in range(PROCESSES)]
    found = interleave(cases(workers, chosen.runs), chosen.rounds)
    for contestants in workers:
        for contestant in contestants.values():
            contestant.close()
    results = json.loads(json.dumps({**facts, **compared(found), "runs": chosen.runs, "rounds": chosen.rounds}))
    print(tables(results))
    write("shared", results)


def cases(workers, runs):
    """Return a measurement for each contestant with each number of processes."""
    return {
        named(name, count): lambda name=name, count=count: shared([one[name] for one in workers[:count]], name, runs)
        for name in CASES
        if name in workers[0]
        for count in (1, PROCESSES)
    }


def named(name, count):
    """Return what a row of the table is called."""
    return f"{name}, {count} process{'es' if count > 1 else ''}"


def shared(workers, name, runs):
    """Return the microseconds per step of runs that some workers divide among themselves, in a new file."""
    each = runs // len(workers)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        for place, worker in enumerate(workers):
            worker.start(
                CASES[name], scratch=folder, runs=each, steps=STEPS_MANY, text_bytes=TEXT_BYTES, first=place * each
            )
        answers = [worker.finish() for worker in workers]
    seconds = max(answer["ended"] for answer in answers) - min(answer["began"] for answer in answers)
    return seconds / sum(answer["steps"] for answer in answers) * 1e6


def compared(found):
    """Return the spreads of the times, and of the ratios of this project with two processes to everybody."""
    ours = found[named("replan", PROCESSES)]
    return {
        "us_per_step": {name: spread(values) for name, values in found.items()},
        "ratio": {name: ratios(ours, values) for name, values in found.items() if values is not ours},
    }


def tables(results):
    """Return the results as Markdown."""
    ratio, first = results["ratio"], named("replan", PROCESSES)
    rows = [
        (name, told(time), told(ratio[name]) if name in ratio else "") for name, time in results["us_per_step"].items()
    ]
    title = f"{results['runs']} concurrent runs over one file, {results['rounds']} rounds:"
    return f"{title}\n\n{table(('', 'µs per step', f'{first} : this'), rows)}"


if __name__ == "__main__":
    main()
