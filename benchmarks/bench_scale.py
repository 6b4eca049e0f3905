"""Time per step of a thousand concurrent runs, compared with LangGraph and DBOS, and the storage of long runs.

    python benchmarks/bench_scale.py [--rounds N] [--runs N] [--no-peers]

The same step as in bench_steps.py (generate + judge, instant model, everything durable on SQLite) in 1,000 concurrent
runs of 5 steps, in interleaved rounds with the peers. For this project also: events per second, the latency of a
durable append from the call to the commit, and the storage of a run of 8,000 steps compared with one of 4,000.

Prints tables, writes results/scale.json.
"""

import argparse
import json
import tempfile

from bench_steps import TEXT_BYTES, stored
from common import (
    SCRATCH,
    interleave,
    provenance_of,
    ratios,
    spread,
    spread_text,
    start_contestants,
    table,
    verdict,
    write,
)

STEPS = 5
LONG = (4000, 8000)
GROWTH_GOAL = 2.1
"""The largest factor of the bytes for twice the steps."""


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds (3)")
    parser.add_argument("--runs", type=int, default=1000, help="concurrent runs (1000)")
    parser.add_argument("--no-peers", action="store_true", help="measure only this project")
    options = parser.parse_args()
    contestants = start_contestants(peers=not options.no_peers)
    results = {
        **provenance_of(peers=not options.no_peers),
        "crowd": crowds(contestants, options.runs, options.rounds),
        "growth": growth(contestants["replan"]),
    }
    for contestant in contestants.values():
        contestant.close()
    results = json.loads(json.dumps(results))  # With the keys that the file has.
    print(tables(results))
    write("scale", results)


def crowds(contestants, runs, rounds):
    """Return the times per step of all contestants, and the other measurements of this project."""
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
    times = interleave(cases, rounds)
    measured = appends[-rounds:]
    return {
        "runs": runs,
        "steps": STEPS,
        "rounds": rounds,
        "us_per_step": {name: spread(values) for name, values in times.items()},
        "ratio": {name: ratios(times["replan"], values) for name, values in times.items() if name != "replan"},
        "events_per_second": spread([answer["events"] / answer["seconds"] for answer in measured]),
        "append_ms_median": spread([answer["append_median"] * 1e3 for answer in measured]),
        "append_ms_p99": spread([answer["append_p99"] * 1e3 for answer in measured]),
    }


def growth(contestant):
    """Return the bytes of files with one long run, and the factor between the two lengths."""
    sizes = {count: stored(contestant, "retries", {"steps": count}) for count in LONG}
    return {"bytes": sizes, "factor": round(sizes[LONG[1]] / sizes[LONG[0]], 3), "goal": GROWTH_GOAL}


def tables(results):
    """Return the results as Markdown."""
    crowd, grown = results["crowd"], results["growth"]
    rows = [
        (name, spread_text(time), spread_text(crowd["ratio"][name]) if name in crowd["ratio"] else "")
        for name, time in crowd["us_per_step"].items()
    ]
    facts = [
        ("events per second", spread_text(crowd["events_per_second"])),
        ("durable append, median ms", spread_text(crowd["append_ms_median"])),
        ("durable append, 99th percentile ms", spread_text(crowd["append_ms_p99"])),
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
