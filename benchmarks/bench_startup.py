"""Start-up time of the command line compared with a bare interpreter and an earlier commit, and the time of a run.

    python benchmarks/bench_startup.py [--commit C] [--rounds N]

Each round runs every command once in a new process, with cached bytecode. The result is the difference to
`python -c pass` in the same round; the goals are 150 ms for `replan --help`, and 250 ms for completing a run's id. The
commands that only read run in the earlier commit too, on a run of its own; now they should take at most half of the
time (issue 12). A cold run has a new home and no cached bytecode, as the first run in a container.

Prints a table, writes results/startup.json.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from bench_before import COMMIT, checkout
from common import (
    HERE,
    SCRATCH,
    commit,
    interleave,
    machine,
    ratios,
    spread,
    spread_text,
    table,
    today,
    verdict,
    versions,
    write,
)

ROOT = HERE.parent
PROBLEM = ROOT / "configs" / "problems" / "login_timeout.md"
REPLAN = ("-m", "replan")
RUN = (*REPLAN, "run", str(PROBLEM), "-m", "rules", "--no-input", "--json")
HELP_GOAL_MS = 150
COMPLETION_GOAL_MS = 250
"""Half of what `replan runs` took at the earlier commit, which completed no ids."""
FASTER_GOAL = 2
"""How much longer the commands that only read should take at the earlier commit (issue 12)."""
READING = (("runs",), ("questions",), ("show", "--last"), ("log", "--last"))
"""The commands that only read."""
COMPLETION = {"_REPLAN_COMPLETE": "bash_complete", "COMP_WORDS": "replan show ", "COMP_CWORD": "2"}
"""What bash sets when a run's id is completed."""


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default=COMMIT, help=f"the earlier commit ({COMMIT})")
    parser.add_argument("--rounds", type=int, default=11, help="rounds (11)")
    options = parser.parse_args()
    SCRATCH.mkdir(exist_ok=True)
    earlier_tree = checkout(options.commit)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        home, earlier_home = Path(folder) / "now", Path(folder) / "before"
        for each in (home, earlier_home):
            each.mkdir(mode=0o700)
        reading = {f"replan {' '.join(words)}": (*REPLAN, *words) for words in READING}
        cases = {
            "python -c pass": lambda: started(home, "-c", "pass"),
            "python -c 'import trio'": lambda: started(home, "-c", "import trio"),
            "replan --help": lambda: started(home, *REPLAN, "--help"),
            **{name: partial(started, home, *words) for name, words in reading.items()},
            "completing a run": partial(started, home, *REPLAN, variables=COMPLETION),
            "replan run, warm": lambda: started(home, *RUN),
            "replan run, cold": lambda: cold(home),
        }
        earlier = {
            (name, "before"): partial(started, earlier_home, *words, tree=earlier_tree)
            for name, words in reading.items()
        }
        machine_facts = machine()
        started(home, *RUN)  # What the reading commands read.
        started(earlier_home, *RUN, tree=earlier_tree)
        times = interleave({**cases, **earlier}, options.rounds, warm_up=2)
    bare = times["python -c pass"]
    results = {
        "commit": commit(),
        "date": today(),
        "machine": machine_facts,
        "versions": versions(sys.executable, "click", "trio", "pydantic", "rich"),
        "before": options.commit,
        "rounds": options.rounds,
        "ms": {name: spread(times[name]) for name in cases},
        "ms_over_bare": {
            name: spread([time_ms - bare_ms for time_ms, bare_ms in zip(times[name], bare, strict=True)])
            for name in cases
        },
        "ms_before": {name: spread(times[name, "before"]) for name in reading},
        "before_to_now": {name: ratios(times[name, "before"], times[name]) for name in reading},
        "goal_ms_over_bare": {"replan --help": HELP_GOAL_MS, "completing a run": COMPLETION_GOAL_MS},
        "goal_before_to_now": FASTER_GOAL,
    }
    print(tables(results, every=True))
    write("startup", results)


def tables(results, *, every=False):
    """Return the results as Markdown: all, or without the comparison with an earlier commit."""
    rows = []
    for name, time_ms in results["ms"].items():
        over, goal = results["ms_over_bare"][name], results["goal_ms_over_bare"].get(name)
        rows.append((name, spread_text(time_ms), spread_text(over), verdict(over["median"], goal)))
    heads = ("", "ms", "ms over `python -c pass`", "goal")
    process_table = f"Starting a process, {results['rounds']} rounds:\n\n{table(heads, rows)}"
    if not every:
        return process_table
    earlier_rows = [
        (name, spread_text(results["ms_before"][name]), spread_text(results["ms"][name]), *_faster(results, ratio))
        for name, ratio in results["before_to_now"].items()
    ]
    earlier_heads = ("ms", f"at {results['before']}", "now", f"{results['before']} : now", "goal")
    return (
        f"{process_table}\n\n"
        f"Commands that only read, compared with commit {results['before']}, in the same rounds:\n\n"
        f"{table(earlier_heads, earlier_rows)}"
    )


def _faster(results, ratio):
    """Return how many times faster a command is as a cell, and whether the goal was met."""
    goal = results["goal_before_to_now"]
    return spread_text(ratio), f"at least {goal:g}: {'met' if ratio['median'] >= goal else '**missed**'}"


def started(home, *arguments, cache=None, variables=None, tree=ROOT):
    """Return the milliseconds from the start of a process to its end."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"REPLAN_HOME": str(home), "PYTHONPATH": str(tree)}
    environment |= variables or {}
    if cache is not None:
        environment["PYTHONPYCACHEPREFIX"] = str(cache)
    before = time.perf_counter()
    command = [sys.executable, *arguments]
    process = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)
    elapsed = (time.perf_counter() - before) * 1000
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} exits {process.returncode}: {process.stderr}")
    return elapsed


def cold(home):
    """Return the milliseconds of a run in a new home, without cached bytecode."""
    with tempfile.TemporaryDirectory(dir=home) as folder:
        fresh, cache = Path(folder) / "home", Path(folder) / "cache"
        fresh.mkdir(mode=0o700)
        return started(fresh, *RUN, cache=cache)


if __name__ == "__main__":
    main()
