"""Time and storage of a journaled step, compared with LangGraph and DBOS.

    python benchmarks/bench_steps.py [--rounds N] [--rounds-many N] [--runs N] [--no-peers]

A step generates a text and judges it, with a model and a guard that answer immediately; everything is durable in SQLite
before it is acted upon. The time of a step is the time of whole runs, from creation to the last record, divided by
their steps. The goals are for the same work, generate and judge, which is two nodes or two steps of a peer. The tables
also have the stricter comparison with only one of its nodes.

Prints tables, writes results/steps.json.
"""

import argparse
import json
import tempfile

from common import (
    SCRATCH,
    commit,
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

TEXT_BYTES = 400
STEPS_ALONE = 50
STEPS_MANY = 10
STEPS_STORED = (100, 1000)
GOALS = {
    ("alone", "langgraph"): 1.0,
    ("alone", "dbos"): 0.5,
    ("many", "langgraph"): 0.1,
    ("many", "dbos"): 0.05,
}
"""The largest ratio of a step here to the same work of a peer."""
BEYOND_THE_TEXT_GOAL = 1000
"""Bytes stored per step in addition to the new text."""


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="rounds with one run at a time (11)")
    parser.add_argument("--rounds-many", type=int, default=5, help="rounds with concurrent runs (5)")
    parser.add_argument("--runs", type=int, default=100, help="concurrent runs (100)")
    parser.add_argument("--no-peers", action="store_true", help="measure only this project")
    options = parser.parse_args()
    contestants = start_contestants(peers=not options.no_peers)
    results = {
        **provenance_of(peers=not options.no_peers),
        "alone": steps(contestants, alone, options.rounds, "alone"),
        "many": steps(contestants, many(options.runs), options.rounds_many, "many") | {"runs": options.runs},
        "storage": storage(contestants),
    }
    for contestant in contestants.values():
        contestant.close()
    results = json.loads(json.dumps(results))  # With the keys that the file has.
    print(tables(results))
    write("steps", results)


def timed(contestant, case, *, scratch=True, **arguments):
    """Return the microseconds per step of one measurement; with `scratch`, in a new file."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        if scratch:
            arguments["scratch"] = folder
        answer = contestant.ask(case, text_bytes=TEXT_BYTES, **arguments)
    return answer["seconds"] / answer["steps"] * 1e6


def alone(name, contestant):
    """One run at a time."""
    match name:
        case "replan":
            return timed(contestant, "chains", runs=1, steps=STEPS_ALONE)
        case "langgraph":
            return timed(contestant, "alone", steps=STEPS_ALONE)
        case _:
            return timed(contestant, "alone", scratch=False, steps=STEPS_ALONE)


def many(runs):
    """Concurrent runs."""

    def measure(name, contestant):
        match name:
            case "replan":
                return timed(contestant, "chains", runs=runs, steps=STEPS_MANY)
            case "langgraph":
                return timed(contestant, "many", runs=runs, steps=STEPS_MANY)
            case _:
                return timed(contestant, "many", scratch=False, runs=runs, steps=STEPS_MANY)

    return measure


def steps(contestants, measure, rounds, kind):
    """Return the spreads of the times, and of the ratios to the peers."""
    cases = {name: lambda name=name, who=who: measure(name, who) for name, who in contestants.items()}
    times = interleave(cases, rounds)
    peers = [name for name in times if name != "replan"]
    return {
        "rounds": rounds,
        "us_per_step": {name: spread(values) for name, values in times.items()},
        "ratio_to_the_same_work": {name: ratios(times["replan"], times[name]) for name in peers},
        "ratio_to_one_node": {name: ratios(times["replan"], times[name], 2.0) for name in peers},
        "goal_ratio_to_the_same_work": {name: GOALS[kind, name] for name in peers},
    }


def storage(contestants):
    """Return the sizes of files after `STEPS_STORED` steps, and the bytes per step between the two counts."""
    cases = {
        "replan, accepted steps": (
            "replan",
            lambda count: ("chains", {"runs": count // STEPS_ALONE, "steps": STEPS_ALONE}),
        ),
        "replan, rejected steps of one run": ("replan", lambda count: ("retries", {"steps": count})),
        "langgraph, newest text only": ("langgraph", lambda count: ("alone", {"steps": count, "history": False})),
        "langgraph, every text": ("langgraph", lambda count: ("alone", {"steps": count, "history": True})),
    }
    results = {}
    for name, (who, case) in cases.items():
        if who in contestants:
            sizes = [stored(contestants[who], *case(count)) for count in STEPS_STORED]
            further = (sizes[-1] - sizes[0]) / (STEPS_STORED[-1] - STEPS_STORED[0])
            results[name] = {
                "bytes": dict(zip(STEPS_STORED, sizes, strict=True)),
                "bytes_per_further_step": round(further),
                "beyond_the_text": round(further) - TEXT_BYTES,
            }
    facts = {"commit": commit(), "text_bytes": TEXT_BYTES, "goal_beyond_the_text": BEYOND_THE_TEXT_GOAL}
    return facts | {"cases": results}


def stored(contestant, case, arguments):
    """Return the size of the file after a measurement."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        return contestant.ask(case, scratch=folder, text_bytes=TEXT_BYTES, **arguments)["bytes"]


def tables(results):
    """Return the results as Markdown."""
    many_runs = f"{results['many']['runs']} concurrent runs"
    return "\n\n".join(
        [_times(results["alone"], "One run at a time"), _times(results["many"], many_runs), _sizes(results)]
    )


def _times(part, title):
    rows = []
    for name, time in part["us_per_step"].items():
        if name == "replan":
            rows.append((name, spread_text(time), "", "", ""))
            continue
        same, strict = part["ratio_to_the_same_work"][name], part["ratio_to_one_node"][name]
        goal = verdict(same["median"], part["goal_ratio_to_the_same_work"][name])
        rows.append((name, spread_text(time), spread_text(same), goal, spread_text(strict)))
    heads = ("", "µs per step", "replan : the same work", "goal", "replan : one node")
    return f"{title}, {part['rounds']} rounds:\n\n{table(heads, rows)}"


def _sizes(results):
    storage_results = results["storage"]
    rows = []
    for name, case in storage_results["cases"].items():
        goal = storage_results["goal_beyond_the_text"] if name.startswith("replan") else None
        sizes = (f"{size / 1e6:.2f} MB" for size in case["bytes"].values())
        beyond = case["beyond_the_text"]
        rows.append((name, *sizes, f"{case['bytes_per_further_step']:,}", f"{beyond:,}", verdict(beyond, goal)))
    counts = (f"{int(count):,} steps" for count in next(iter(storage_results["cases"].values()))["bytes"])
    heads = ("", *counts, "bytes per step", "beyond the text", "goal")
    text_bytes = storage_results["text_bytes"]
    title = f"Storage at commit {storage_results['commit']}, with a new text of {text_bytes} bytes in every step"
    return f"{title}:\n\n{table(heads, rows)}"


if __name__ == "__main__":
    main()
