"""Scaling of two processes that share one journal, compared with LangGraph and one file of checkpoints.

    python benchmarks/bench_shared.py [--rounds N] [--runs N] [--no-peers]

The same step and the same concurrent runs as in bench_steps.py, in one process, and in two processes with one SQLite
file and half of the runs each. The time is from the first start to the last end, divided by all steps. DBOS is omitted:
its processes would be executors of one application that recover each other's work, which is not comparable.

Prints a table, writes results/shared.json.
"""

import argparse
import json
import tempfile

from bench_steps import STEPS_MANY, TEXT_BYTES
from common import SCRATCH, interleave, provenance_of, ratios, spread, spread_text, start_contestants, table, write

PROCESSES = 2
CASES = {"replan": "chains", "langgraph": "many"}


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--runs", type=int, default=100, help="concurrent runs (100)")
    parser.add_argument("--no-peers", action="store_true", help="measure only this project")
    options = parser.parse_args()
    facts = provenance_of(peers=not options.no_peers)
    workers = [start_contestants(peers=not options.no_peers) for _ in range(PROCESSES)]
    times = interleave(cases(workers, options.runs), options.rounds)
    for contestants in workers:
        for contestant in contestants.values():
            contestant.close()
    measurements = {**facts, **compared(times), "runs": options.runs, "rounds": options.rounds}
    results = json.loads(json.dumps(measurements))
    print(tables(results))
    write("shared", results)


def cases(workers, runs):
    """Return the measurements: each contestant with each number of processes."""
    return {
        named(name, count): lambda name=name, count=count: shared(
            [contestants[name] for contestants in workers[:count]], name, runs
        )
        for name in CASES
        if name in workers[0]
        for count in (1, PROCESSES)
    }


def named(name, count):
    """Return the name of a row."""
    return f"{name}, {count} process{'es' if count > 1 else ''}"


def shared(workers, name, runs):
    """Return the microseconds per step of runs that are divided among workers, in a new file."""
    each = runs // len(workers)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        for place, worker in enumerate(workers):
            worker.start(
                CASES[name], scratch=folder, runs=each, steps=STEPS_MANY, text_bytes=TEXT_BYTES, first=place * each
            )
        answers = [worker.finish() for worker in workers]
    seconds = max(answer["ended"] for answer in answers) - min(answer["began"] for answer in answers)
    return seconds / sum(answer["steps"] for answer in answers) * 1e6


def compared(times):
    """Return the spreads of the times, and of the ratios of this project with two processes to every other row."""
    ours = times[named("replan", PROCESSES)]
    return {
        "us_per_step": {name: spread(values) for name, values in times.items()},
        "ratio": {name: ratios(ours, values) for name, values in times.items() if values is not ours},
    }


def tables(results):
    """Return the results as Markdown."""
    ratio, first = results["ratio"], named("replan", PROCESSES)
    rows = [
        (name, spread_text(time), spread_text(ratio[name]) if name in ratio else "")
        for name, time in results["us_per_step"].items()
    ]
    title = f"{results['runs']} concurrent runs over one file, {results['rounds']} rounds:"
    return f"{title}\n\n{table(('', 'µs per step', f'{first} : this'), rows)}"


if __name__ == "__main__":
    main()
