"""Processor time of the plan guards for chains, random graphs, and chains in which every step has a recovery.

    python benchmarks/bench_guards.py

Each row is the shortest of several runs of one guard on an artifact whose JSON is already parsed; the time to parse has
its own column. The goals are 30 ms for medium at 3,000 steps, 1 s at 20,000, and 100 ms for expansive on the chain of
50 steps and 50 recoveries.

Prints a table, writes results/guards.json.
"""

import gc
import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import provenance_of, table, verdict, write

from actors.guards import plan_expansive, plan_medium, plan_minimal
from actors.values.artifacts import Artifact, Context
from replan.setup.installation import tune
from runtime.models.replies import Parsed

GUARDS = {"minimal": plan_minimal, "medium": plan_medium, "expansive": plan_expansive}
SETTINGS = {"r_max": 1_000_000}
GOALS_MS = {
    **{(plan, 3_000, "medium"): 30 for plan in ("chain", "deleting_chain", "random_graph")},
    **{(plan, 20_000, "medium"): 1000 for plan in ("chain", "deleting_chain", "random_graph")},
    ("recoveries", 100, "expansive"): 100,
}
RUNS_MAX = 25
EXPANSIVE_MAX = 3_000
"""The largest plan for the expansive guard, which is meant for plans that people read."""


def step(number, before, needs, makes, **fields):
    return {
        "step_id": f"s{number:05}",
        "name": f"step {number}",
        "generator": "model",
        "guard": "dynamic_test",
        "retry_budget": 1,
        "dependencies": [f"s{earlier:05}" for earlier in before],
        "preconditions": needs,
        "effects": makes,
        **fields,
    }


def plan(steps, goal):
    return {
        "plan_id": "benchmark",
        "initial_state": ["t0"],
        "goal_state": goal,
        "total_retry_budget": len(steps),
        "steps": steps,
    }


def chain(count):
    """Each step needs the effect of the step before."""
    steps = [
        step(number, [number - 1] if number else [], [f"t{number}"], [f"t{number + 1}"]) for number in range(count)
    ]
    return plan(steps, [f"t{count}"])


def deleting_chain(count):
    """A chain in which each step deletes its precondition, and every second step a token that the next restores."""
    steps = []
    for number in range(count):
        takes = number % 2 == 0
        needs, loses, makes = [f"t{number}", "free"], [f"t{number}"], [f"t{number + 1}"]
        if takes:
            loses.append("free")
        else:
            needs.remove("free")
            makes.append("free")
        steps.append(step(number, [number - 1] if number else [], needs, makes, delete_effects=loses))
    value = plan(steps, [f"t{count}"])
    value["initial_state"].append("free")
    return value


def random_graph(count):
    """Each step needs the effects of up to three earlier steps; every tenth deletes a token that no step needs."""
    chance = random.Random(count)
    steps = []
    for number in range(count):
        before = sorted(chance.sample(range(max(0, number - 50), number), min(number, 3)))
        needs = [f"t{earlier + 1}" for earlier in before] or ["t0"]
        fields = {"delete_effects": [f"own{number}"]} if number % 10 == 0 else {}
        steps.append(step(number, before, needs, [f"t{number + 1}", f"own{number}"], **fields))
    return plan(steps, [f"t{count}"])


def recoveries(count):
    """A chain of `count / 2` steps; each may fail, and has a recovery step with the same effect."""
    steps = []
    half = count // 2
    for number in range(half):
        fields = {"on_failure": "continue", "failure_effects": [f"f{number}"]}
        steps.append(step(number, [number - 1] if number else [], [f"t{number}"], [f"t{number + 1}"], **fields))
        steps.append(step(half + number, [number], [f"f{number}"], [f"t{number + 1}"]))
    return plan(steps, [f"t{half}"])


CASES = [
    *((chain, count) for count in (20, 200, 2_000, 3_000, 20_000)),
    *((deleting_chain, count) for count in (20, 200, 2_000, 3_000, 20_000)),
    *((random_graph, count) for count in (20, 200, 2_000, 3_000, 20_000)),
    *((recoveries, count) for count in (20, 100, 400, 2_000)),
]


def best(action, budget_seconds=1.0):
    """Return the shortest processor time of several runs in milliseconds, and the last result."""
    times, started, result = [], time.perf_counter(), None
    while len(times) < RUNS_MAX and (not times or time.perf_counter() - started < budget_seconds):
        gc.collect()
        before = time.process_time()
        result = action()
        times.append((time.process_time() - before) * 1000)
    return min(times), result


def main():
    """Measure, print, write."""
    tune()  # As in every process that drives runs.
    facts = provenance_of()
    rows = [row for make, count in CASES for row in measured(make, count)]
    results = json.loads(json.dumps({**facts, "rows": rows}))
    print(tables(results, every=True))
    write("guards", results)


def measured(make, count):
    """Yield a row of results for each guard on one plan."""
    text = json.dumps(make(count))
    parse_ms, value = best(lambda: json.loads(text))
    for level, module in GUARDS.items():
        if level == "expansive" and count > EXPANSIVE_MAX:
            continue
        guard = module.make(SETTINGS)
        artifact = Artifact(artifact_id="a1", step="g_plan", content="")
        artifact.__dict__["value"] = Parsed(value)
        ms, judgement = best(lambda guard=guard, artifact=artifact: guard(artifact, Context("")))
        yield {
            "plan": make.__name__,
            "steps": count,
            "level": level,
            "ms": round(ms, 3),
            "parse_ms": round(parse_ms, 3),
            "passed": judgement.passed,
            "explored": judgement.facts.get("explored", 0),
            "goal_ms": GOALS_MS.get((make.__name__, count, level)),
        }


def tables(results, *, every=False):
    """Return the results as Markdown: all rows, or those with a goal."""
    rows = [
        (
            row["plan"].replace("_", " "),
            f"{row['steps']:,}",
            row["level"],
            f"{row['ms']:.3g}",
            f"{row['parse_ms']:.3g}",
            verdict(row["ms"], row["goal_ms"]),
        )
        for row in results["rows"]
        if every or row["goal_ms"]
    ]
    heads = ("plan", "steps", "guard", "ms", "ms to parse", "goal")
    return f"Milliseconds of processor time for a guard, the best of several runs:\n\n{table(heads, rows)}"


if __name__ == "__main__":
    main()
