"""A thousand active runs at once, and runs that get long, beside LangGraph and DBOS.

    python benchmarks/bench_scale.py [--rounds N] [--runs N] [--no-peers]

The same step as in bench_steps.py (generate + judge, instant model, everything durable on SQLite) in 1,000 concurrent
runs of 5 steps, in the same interleaved rounds as the peers. For this project also: events per second, and the latency
of a durable append, from the hand-over to the commit. Then the bytes that a run of 8,000 steps has over one of 4,000.

Prints tables, writes results/scale.json.
"""

import argparse
import json
import tempfile

from bench_steps import TEXT_BYTES, stored
from common import (
    SCRATCH,
    beside_peers,
    interleave,
    measured_with,
    ratios,
    spread,
    table,
    told,
    verdict,
    write,
)

STEPS = 5
LONG = (4000, 8000)
GROWTH_GOAL = 2.1
"""The most bytes that twice the steps may take."""


def main():
    """Measure, print, write."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3, help="rounds (3)")
    options.add_argument("--runs", type=int, default=1000, help="concurrent runs (1000)")
    options.add_argument("--no-peers", action="store_true", help="measure only this project")
    chosen = options.parse_args()
    contestants = beside_peers(peers=not chosen.no_peers)
    results = {
        **measured_with(peers=not chosen.no_peers),
        "crowd": crowds(contestants, chosen.runs, chosen.rounds),
        "growth": growth(contestants["replan"]),
    }
    for contestant in contestants.values():
        contestant.close()
    results = json.loads(json.dumps(results))  # As whoever reads the file will find them.
    print(tables(results))
    write("scale", results)


def crowds(contestants, runs, rounds):
    """Return the times per step of all, and what else is known of this project's rounds."""
    appends = []

    def measure(name, contestant):
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            scratch = {} if name == "dbos" else {"scratch": folder}
            case = "crowd" if name == "replan" else "many"
            answer = contestant.ask(case, runs=runs, steps=STEPS, text_bytes=TEXT_BYTES, **scratch)
        if name == "replan":
            appends.append(answer)
        return answer["seconds"] / answer["steps"] * 1e6

    cases = {name: lambda name=name, who=who: measure(name, who) for name, who in contestants.items()}
    found = interleave(cases, rounds)
    measured = appends[-rounds:]
    return {
        "runs": runs,
        "steps": STEPS,
        "rounds": rounds,
        "us_per_step": {name: spread(values) for name, values in found.items()},
        "ratio": {name: ratios(found["replan"], values) for name, values in found.items() if name != "replan"},
        "events_per_second": spread([answer["events"] / answer["seconds"] for answer in measured]),
        "append_ms_median": spread([answer["append_median"] * 1e3 for answer in measured]),
        "append_ms_p99": spread([answer["append_p99"] * 1e3 for answer in measured]),
    }


def growth(contestant):
    """Return the bytes of files with one run of so many attempts, and how they grow."""
    sizes = {count: stored(contestant, "retries", {"steps": count}) for count in LONG}
    return {"bytes": sizes, "factor": round(sizes[LONG[1]] / sizes[LONG[0]], 3), "goal": GROWTH_GOAL}


def tables(results):
    """Return the results as Markdown."""
    crowd, grown = results["crowd"], results["growth"]
    rows = [
        (name, told(time), told(crowd["ratio"][name]) if name in crowd["ratio"] else "")
        for name, time in crowd["us_per_step"].items()
    ]
    facts = [
        ("events per second", told(crowd["events_per_second"])),
        ("durable append, median ms", told(crowd["append_ms_median"])),
        ("durable append, 99th percentile ms", told(crowd["append_ms_p99"])),
    ]
    (less, small), (more, large) = ((int(count), size) for count, size in grown["bytes"].items())
    lines = (f"{less:,} steps: {small / 1e6:.2f} MB", f"{more:,} steps: {large / 1e6:.2f} MB")
    title = f"{crowd['runs']:,} concurrent runs of {crowd['steps']} steps, {crowd['rounds']} rounds:"
    goal = verdict(grown["factor"], grown["goal"])
    grows = f"One run that gets long: {', '.join(lines)}; {grown['factor']:g} times the bytes ({goal})."
    times = table(("", "µs per step", "replan : the same work"), rows)
    return "\n\n".join([title, times, table(("this project", ""), facts), grows])


if __name__ == "__main__":
    main()
