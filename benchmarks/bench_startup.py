"""Start-up time of the command line compared with a bare interpreter, and the time of a run.

    python benchmarks/bench_startup.py [--rounds N]

Each round runs every command once in a new process, with cached bytecode. The result is the difference to
`python -c pass` in the same round; the goals are 150 ms for `replan --help`, and 250 ms for completing a run's id. A
cold run has a new home and no cached bytecode, as the first run in a container. `bench_before.py` compares with an
earlier commit.

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

from common import HERE, SCRATCH, interleave, provenance_of, spread, spread_text, table, verdict, write

ROOT = HERE.parent
PROBLEM = ROOT / "configs" / "problems" / "login_timeout.md"
REPLAN = ("-m", "replan")
RUN = (*REPLAN, "run", str(PROBLEM), "-m", "template:bug", "--no-input", "--json")
HELP_GOAL_MS = 150
COMPLETION_GOAL_MS = 250
"""Half of what `replan runs` took at ba24455, which completed no ids (issue 12)."""
READING = (("runs",), ("questions",), ("show", "--last"), ("log", "--last"))
"""The commands that only read."""
COMPLETION = {"_REPLAN_COMPLETE": "bash_complete", "COMP_WORDS": "replan show ", "COMP_CWORD": "2"}
"""What bash sets when a run's id is completed."""


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="rounds (11)")
    options = parser.parse_args()
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        home = Path(folder)
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
        facts = provenance_of("click", "trio", "pydantic", "rich")
        started(home, *RUN)  # What the reading commands read.
        times = interleave(cases, options.rounds, warm_up=2)
    bare = times["python -c pass"]
    results = {
        **facts,
        "rounds": options.rounds,
        "ms": {name: spread(times[name]) for name in cases},
        "ms_over_bare": {
            name: spread([time_ms - bare_ms for time_ms, bare_ms in zip(times[name], bare, strict=True)])
            for name in cases
        },
        "goal_ms_over_bare": {"replan --help": HELP_GOAL_MS, "completing a run": COMPLETION_GOAL_MS},
    }
    print(tables(results))
    write("startup", results)


def tables(results):
    """Return the results as Markdown."""
    rows = []
    for name, time_ms in results["ms"].items():
        over, goal = results["ms_over_bare"][name], results["goal_ms_over_bare"].get(name)
        rows.append((name, spread_text(time_ms), spread_text(over), verdict(over["median"], goal)))
    heads = ("", "ms", "ms over `python -c pass`", "goal")
    return f"Starting a process, {results['rounds']} rounds:\n\n{table(heads, rows)}"


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
