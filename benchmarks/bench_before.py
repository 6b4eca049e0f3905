"""What a user waits or pays for, compared with an earlier commit of this project.

    python benchmarks/bench_before.py [--commit C] [--rounds N] [--only PART...]

Checks both commits out, the earlier one and the current one, and measures both trees with the same interpreter and
packages, in interleaved rounds. The goal is that of issue 28: nothing may cost more than 1.05 times as much.

- machine: a step in the pure machine, without trio and journal.
- steps: a durable step of one run, and of 60 concurrent runs; processor time, and the time until the last record.
- startup: commands from the start of the process to its end, in a home with one run.
- host: a host over waiting runs: its memory, its start, and the time from an answer to the next request for the model.
- postgres: a durable step of 60 concurrent runs in a database; processor time of the process and of the server.

A ratio also counts as equal if its rounds lie on both sides of 1: their differences are those of the machine then.
Prints a table, writes results/before.json. Linux only: it reads /proc.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from operator import sub
from pathlib import Path

import bench_host
import bench_postgres
import bench_startup
from common import HERE, SCRATCH, Contestant, interleave, provenance_of, ratios, spread, spread_text, table, write

COMMIT = "ab995f53"
"""The commit before the house was made lighter (issue 28)."""
RATIO_MAX = 1.05
"""The largest ratio of now to before that counts as equal (issue 28)."""
MACHINE_RUNS = 300
"""Runs of ten steps in one measurement of the pure machine."""
RUNS = 60
STEPS = 20
TIMES_ALONE = 40
"""How often one run is driven in one measurement, so that it takes a second: Linux counts processor time in 10 ms."""
TEXT_BYTES = 400
COMMANDS = (("--help",), ("runs",), ("questions",), ("show", "--last"), ("log", "--last"))
PARTS = ("machine", "steps", "startup", "host", "postgres")


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default=COMMIT, help=f"the earlier commit ({COMMIT})")
    parser.add_argument("--rounds", type=int, default=9, help="rounds (9)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="measure only these parts")
    options = parser.parse_args()
    facts = provenance_of()
    trees = {"before": checkout(options.commit), "now": checkout("HEAD")}
    rows = {}
    with ExitStack() as stack:
        for part in options.only:
            cases = {name: measurement(part, tree, stack) for name, tree in trees.items()}
            rows |= compared(interleave(cases, options.rounds))
    results = {**facts, "before": options.commit, "rounds": options.rounds, "rows": {**measured_before(facts), **rows}}
    print(tables(results))
    write("before", results)


def measured_before(facts):
    """Return the rows that were measured before at the same commit, so that one part can be measured again."""
    path = HERE / "results" / "before.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return found.get("rows", {}) if found.get("commit") == facts["commit"] else {}


def compared(times):
    """Return for each row the values of both trees, and their ratio."""
    return {
        title: {
            **{name: spread([values[title] for values in rounds]) for name, rounds in times.items()},
            "ratio": ratios(*([values[title] for values in times[name]] for name in ("now", "before"))),
        }
        for title in times["now"][0]
    }


def checkout(commit):
    """Return the folder of a commit's files, compiled as in an installation. Write the files if they are missing."""
    name = subprocess.run(["git", "rev-parse", "--short", commit], cwd=HERE, capture_output=True, text=True, check=True)
    folder = SCRATCH / f"tree-{name.stdout.strip()}"
    if not folder.exists():
        folder.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", commit], cwd=HERE.parent, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    parts = [part for part in ("runtime", "actors", "replan", "packages") if (folder / part).exists()]
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-j", "0", *parts], cwd=folder, check=True)
    return folder


def measurement(part, tree, stack):
    """Return the function that measures a part once in a tree: it returns its values by the title of their row."""
    match part:
        case "machine":
            return partial(machine, tree)
        case "steps":
            return partial(steps, tree)
        case "startup":
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=SCRATCH)))
            home.chmod(0o700)
            problem = tree / "configs" / "problems" / "login_timeout.md"
            started(tree, home, *run_command(tree, problem))
            return partial(startup, tree, home, problem)
        case "host":
            return partial(host, tree)
        case _:
            return partial(postgres, tree, stack.enter_context(bench_postgres.running_server(**bench_postgres.SERVER)))


def machine(tree):
    """Measure a step in the pure machine."""
    command = [sys.executable, tree / "benchmarks" / "bench_machine.py", "--runs", str(MACHINE_RUNS)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True)
    return {"a step in the pure machine, µs": float(re.search(r"^all +([0-9.]+)", done.stdout, re.MULTILINE)[1])}


def steps(tree):
    """Measure durable steps in a file."""
    values = {}
    for name, runs, times in (("one run", 1, TIMES_ALONE), (f"{RUNS} runs", RUNS, 1)):
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            process, _, elapsed = durable(tree, runs, times, scratch=folder)
        values |= {f"a durable step of {name}, processor µs": process, f"a durable step of {name}, µs": elapsed}
    return values


def durable(tree, runs, times, *, scratch, url="", watched=None):
    """Return the microseconds of a durable step: of the process, of the watched server, and until the last record.

    So many runs at once are driven, and that so many times.
    """
    worker = Contestant(sys.executable, tree / "benchmarks" / "worker_replan.py")
    drive = partial(worker.ask, "chains", scratch=scratch, url=url, steps=STEPS, text_bytes=TEXT_BYTES, runs=runs)
    try:
        drive(first=0)  # Warms the process up.
        before = busy(worker, watched)
        answers = [drive(first=runs * number) for number in range(1, 1 + times)]
        after = busy(worker, watched)
    finally:
        worker.close()
    seconds = sum(answer["seconds"] for answer in answers)
    return [1e6 * value / (times * runs * STEPS) for value in (*map(sub, after, before), seconds)]


def busy(worker, watched):
    """Return the processor time of a process and of the watched server so far, in seconds."""
    return bench_host.cpu_seconds(worker.process), bench_postgres.server_seconds(watched) if watched else 0.0


def started(tree, home, *arguments):
    """Return the milliseconds of a command from the start of the process to its end."""
    return bench_startup.started(home, "-m", "replan", *arguments, tree=tree)


def startup(tree, home, problem):
    """Measure commands, with cached bytecode."""
    values = {f"replan {' '.join(words)}, ms": started(tree, home, *words) for words in COMMANDS}
    with tempfile.TemporaryDirectory(dir=home) as fresh:
        return {**values, "replan run, ms": started(tree, Path(fresh), *run_command(tree, problem))}


def run_command(tree, problem):
    """Return the words that plan a problem offline. Before there were templates, `rules` planned without a model."""
    model = "template:bug" if (tree / "actors" / "templates").exists() else "rules"
    return "run", str(problem), "-m", model, "--no-input", "--json"


def host(tree):
    """Measure a host over waiting runs."""
    options = ("--runs", "1000", "--seconds", "5", "--wakes", "20")
    subprocess.run(
        [sys.executable, tree / "benchmarks" / "bench_host.py", *options], cwd=tree, capture_output=True, check=True
    )
    found = json.loads((tree / "benchmarks" / "results" / "host.json").read_text())
    return {
        "a host over 1,000 waiting runs, MiB": found["memory_mib"]["full"],
        "its start, ms": 1000 * found["start_s"]["full"],
        "from an answer to the next request, ms": found["wake_ms"]["median"],
    }


def postgres(tree, database):
    """Measure durable steps in a database."""
    url = bench_postgres.emptied(database, "compared")
    process, of_server, _ = durable(tree, RUNS, 1, scratch=str(SCRATCH), url=url, watched=database)
    title = f"a step of {RUNS} runs in Postgres, processor µs"
    return {f"{title} of the process": process, f"{title} of the server": of_server}


def tables(results):
    """Return the results as Markdown."""
    rows = [
        (title, *(spread_text(row[name]) for name in ("before", "now")), *judged(row["ratio"]))
        for title, row in results["rows"].items()
    ]
    heads = ("", f"at {results['before']}", "now", "now : before", f"at most {RATIO_MAX:g}, or covers 1")
    return f"Compared with commit {results['before']}, {results['rounds']} rounds:\n\n{table(heads, rows)}"


def judged(ratio):
    """Return the ratio as a cell, and whether the goal was met."""
    met = ratio["median"] <= RATIO_MAX or ratio["min"] <= 1 <= ratio["max"]
    return spread_text(ratio), "met" if met else "**missed**"


if __name__ == "__main__":
    main()
