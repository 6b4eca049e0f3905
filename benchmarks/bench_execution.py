"""Time of a step of an execution beside a step of planning, and in long plans beside short ones.

    python benchmarks/bench_execution.py [--rounds N] [--rounds-long N]

A planning step generates and judges with a model and a guard that answer immediately. A step of an execution calls a
Python function and its check, which return immediately: two calls of tools, each durable before it begins and after it
has ended. Both are whole runs with actors and a SQLite journal, durable before anything follows. Prints tables, writes
results/execution.json.
"""

import argparse
import json
import sys
import tempfile

from common import SCRATCH, Contestant, interleave, provenance_of, ratios, spread, spread_text, table, verdict, write

TEXT_BYTES = 400
STEPS = 50
LONG = (100, 1000)
GOAL_TO_PLANNING = 1.5
"""The largest ratio of a step with an in-process function to a planning step."""
GOAL_LONG = 1.2
"""The largest ratio of a step in the longest plan to one in the shortest."""


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21, help="rounds beside planning (21)")
    parser.add_argument("--rounds-long", type=int, default=5, help="rounds of long plans (5)")
    options = parser.parse_args()
    SCRATCH.mkdir(exist_ok=True)
    planning = Contestant(sys.executable, "worker_replan.py")
    execution = Contestant(sys.executable, "worker_execution.py")
    results = {
        **provenance_of(),
        "beside_planning": beside_planning(planning, execution, options.rounds),
        "long": long_plans(execution, options.rounds_long),
    }
    for contestant in (planning, execution):
        contestant.close()
    results = json.loads(json.dumps(results))  # With the keys that the file has.
    print(tables(results))
    write("execution", results)


def timed(contestant, case, **arguments):
    """Return the microseconds per step of one measurement, in a new file."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        answer = contestant.ask(case, scratch=folder, **arguments)
    return answer["seconds"] / answer["steps"] * 1e6


def beside_planning(planning, execution, rounds):
    """Return the times of steps of both kinds, and the ratios within a round."""
    cases = {
        "planning: generate and judge": lambda: timed(planning, "chains", runs=1, steps=STEPS, text_bytes=TEXT_BYTES),
        "execution: call and check": lambda: timed(execution, "execute", steps=STEPS),
    }
    times = interleave(cases, rounds)
    first, *others = times
    return {
        "rounds": rounds,
        "steps": STEPS,
        "us_per_step": {name: spread(values) for name, values in times.items()},
        "ratio_to_planning": {name: ratios(times[name], times[first]) for name in others},
        "goal": GOAL_TO_PLANNING,
    }


def long_plans(execution, rounds):
    """Return the times of steps in plans of the lengths `LONG`, and the ratio of the longest to the shortest."""
    cases = {count: lambda count=count: timed(execution, "execute", steps=count) for count in LONG}
    times = interleave(cases, rounds)
    return {
        "rounds": rounds,
        "us_per_step": {count: spread(values) for count, values in times.items()},
        "ratio": ratios(times[LONG[-1]], times[LONG[0]]),
        "goal": GOAL_LONG,
    }


def tables(results):
    """Return the results as Markdown."""
    beside, long = results["beside_planning"], results["long"]
    rows = []
    for name, time in beside["us_per_step"].items():
        ratio = beside["ratio_to_planning"].get(name)
        goal = "" if ratio is None else verdict(ratio["median"], beside["goal"])
        rows.append((name, spread_text(time), "" if ratio is None else spread_text(ratio), goal))
    first = table(("a step", "µs per step", "this : planning", "goal"), rows)
    rows = [(f"{int(count):,} steps", spread_text(time), "", "") for count, time in long["us_per_step"].items()]
    rows.append(
        ("the longest : the shortest", "", spread_text(long["ratio"]), verdict(long["ratio"]["median"], long["goal"]))
    )
    second = table(("an execution", "µs per step", "ratio", "goal"), rows)
    return (
        f"Steps of an execution beside steps of planning, {beside['rounds']} rounds of runs of {beside['steps']} steps:"
        f"\n\n{first}\n\nSteps of long plans, {long['rounds']} rounds:\n\n{second}"
    )


if __name__ == "__main__":
    main()
