"""The time of a whole `replan run`, as a ratio to that of `python -c "import openai"` in the same round.

    python benchmarks/bench_run.py [--rounds N]

It is the time from the start of the process to its end. The model answers at once: it fills a template, or repeats a
script. Each run has a new home and cached bytecode. The goal, 1.2 s, is a ratio here, because other work on the machine
changes a ratio less than a time. `bench_startup.py` compares all commands with a bare interpreter.

Prints a table, writes results/run.json.
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path

from bench_startup import PROBLEM, REPLAN, started
from common import SCRATCH, interleave, provenance_of, ratios, spread, spread_text, table, verdict, write

GOAL = 1.85
"""The largest ratio: 1.2 s to the 0.65 s that `import openai` takes where nothing else runs."""
OPENAI = 'python -c "import openai"'
SCRIPT = """\
g_plan:
  - plan_id: p1
    initial_state: [repository]
    goal_state: [renamed]
    total_retry_budget: 2
    steps:
      - {step_id: rename, name: Rename it, generator: coder, guard: all_tests_pass, retry_budget: 2,
         preconditions: [repository], effects: [renamed]}
"""


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="rounds (15)")
    options = parser.parse_args()
    SCRATCH.mkdir(exist_ok=True)
    facts = provenance_of("openai", "click", "trio", "pydantic")
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        home = Path(folder)
        (home / "problem.md").write_text("Rename the column owner to tenant in src/models.py.\n", encoding="utf-8")
        (home / "script.yaml").write_text(SCRIPT, encoding="utf-8")
        scripted = (str(home / "problem.md"), "-w", "single", "-m", f"scripted:{home / 'script.yaml'}")
        cases = {
            OPENAI: partial(started, home, "-c", "import openai"),
            "replan run, a template": partial(run, home, str(PROBLEM), "-m", "template:bug"),
            "replan run, a script": partial(run, home, *scripted),
        }
        times = interleave(cases, options.rounds, warm_up=2)
    results = {
        **facts,
        "rounds": options.rounds,
        "ms": {name: spread(values) for name, values in times.items()},
        "ratio": {name: ratios(values, times[OPENAI]) for name, values in times.items() if name != OPENAI},
        "goal": GOAL,
    }
    print(tables(results))
    write("run", results)


def run(home, *words):
    """Return the milliseconds of a run in a new home."""
    with tempfile.TemporaryDirectory(dir=home) as fresh:
        return started(Path(fresh), *REPLAN, "run", *words, "--no-input", "--json")


def tables(results):
    """Return the results as Markdown."""
    rows = [
        (name, spread_text(results["ms"][name]), spread_text(ratio), verdict(ratio["median"], results["goal"]))
        for name, ratio in results["ratio"].items()
    ]
    rows = [(OPENAI, spread_text(results["ms"][OPENAI]), 1, ""), *rows]
    heads = ("", "ms", f"ratio to `{OPENAI}`", "goal")
    return f"A whole run, {results['rounds']} rounds:\n\n{table(heads, rows)}"


if __name__ == "__main__":
    main()
