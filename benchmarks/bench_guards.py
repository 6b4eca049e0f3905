"""How long the plan guards take: chains, random graphs, and a chain in which every step has its own recovery.

    python benchmarks/bench_guards.py [--json FILE] [--quick]

Each line is the processor time of the best of several runs of one guard on an artifact whose JSON has been parsed;
the time to parse is given beside it. The goals are 30 ms for medium at 3,000 steps, 1 s at 20,000, and 100 ms for
expansive on the chain of 50 steps and 50 recoveries.
"""

import argparse
import gc
import json
import platform
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from actors.artifacts import Artifact, Context
from actors.guards import plan_expansive, plan_medium, plan_minimal
from runtime.replies import Parsed

RESULTS = Path(__file__).parent / "results" / "guards.json"
GUARDS = {"minimal": plan_minimal, "medium": plan_medium, "expansive": plan_expansive}
SETTINGS = {"r_max": 1_000_000}
GOALS_MS = {("chain", 3000, "medium"): 30, ("chain", 20000, "medium"): 1000, ("recoveries", 100, "expansive"): 100}
RUNS_MAX = 25
EXPANSIVE_MAX = 3_000
"""Steps up to which the expansive guard is measured; it is meant for plans that people read."""


def step(number, before, needs, makes, **fields):
    return {
        "step_id": f"s{number:05}",
        "name": f"step {number}",
        "generator": "model",
        "guard": "dynamic_test",
        "retry_budget": 1,
        "dependencies": [f"s{one:05}" for one in before],
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
    """Each step needs what the one before makes."""
    steps = [step(one, [one - 1] if one else [], [f"t{one}"], [f"t{one + 1}"]) for one in range(count)]
    return plan(steps, [f"t{count}"])


def deleting_chain(count):
    """A chain like a classical plan: each step deletes what it needs, and one token is taken and given back."""
    steps = []
    for one in range(count):
        takes = one % 2 == 0
        needs, loses, makes = [f"t{one}", "free"], [f"t{one}"], [f"t{one + 1}"]
        if takes:
            loses.append("free")
        else:
            needs.remove("free")
            makes.append("free")
        steps.append(step(one, [one - 1] if one else [], needs, makes, delete_effects=loses))
    value = plan(steps, [f"t{count}"])
    value["initial_state"].append("free")
    return value


def random_graph(count):
    """Each step needs what up to three earlier ones make, and depends on them; a tenth delete a token of their own."""
    chance = random.Random(count)
    steps = []
    for one in range(count):
        before = sorted(chance.sample(range(max(0, one - 50), one), min(one, 3)))
        needs = [f"t{number + 1}" for number in before] or ["t0"]
        fields = {"delete_effects": [f"own{one}"]} if one % 10 == 0 else {}
        steps.append(step(one, before, needs, [f"t{one + 1}", f"own{one}"], **fields))
    return plan(steps, [f"t{count}"])


def recoveries(count):
    """A chain of `count / 2` steps; each may fail and go on, and has a recovery step that makes its token instead."""
    steps = []
    half = count // 2
    for one in range(half):
        fields = {"on_failure": "continue", "failure_effects": [f"f{one}"]}
        steps.append(step(one, [one - 1] if one else [], [f"t{one}"], [f"t{one + 1}"], **fields))
        steps.append(step(half + one, [one], [f"f{one}"], [f"t{one + 1}"]))
    return plan(steps, [f"t{half}"])


CASES = [
    *((chain, count) for count in (20, 200, 2_000, 3_000, 20_000)),
    *((deleting_chain, count) for count in (20, 200, 2_000, 3_000, 20_000)),
    *((random_graph, count) for count in (20, 200, 2_000, 3_000, 20_000)),
    *((recoveries, count) for count in (20, 100, 400, 2_000)),
]


def best(action, budget_seconds=1.0):
    """Return the shortest processor time in ms of the runs that fit into the budget, and the last result."""
    times, started, result = [], time.perf_counter(), None
    while len(times) < RUNS_MAX and (not times or time.perf_counter() - started < budget_seconds):
        gc.collect()
        before = time.process_time()
        result = action()
        times.append((time.process_time() - before) * 1000)
    return min(times), result


def main():
    """Measure, print a table and write the results."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", type=Path, default=RESULTS, help="where to write the results")
    options.add_argument("--quick", action="store_true", help="only plans of up to 3,000 steps")
    chosen = options.parse_args()
    rows = []
    print(f"{'plan':16} {'steps':>6} {'parse ms':>9} {'guard':>10} {'ms':>10} {'passed':>7} {'explored':>9}  goal ms")
    for make, count in CASES:
        if chosen.quick and count > 3_000:
            continue
        text = json.dumps(make(count))
        parse_ms, value = best(lambda text=text: json.loads(text))
        for level, module in GUARDS.items():
            if level == "expansive" and count > EXPANSIVE_MAX:
                continue
            guard = module.make(SETTINGS)
            artifact = Artifact(artifact_id="a1", step="g_plan", content="")
            artifact.__dict__["value"] = Parsed(value)
            ms, verdict = best(lambda guard=guard, artifact=artifact: guard(artifact, Context("")))
            goal = GOALS_MS.get((make.__name__, count, level))
            explored = verdict.facts.get("explored", 0)
            print(
                f"{make.__name__:16} {count:6} {parse_ms:9.2f} {level:>10} {ms:10.2f} "
                f"{'yes' if verdict.passed else 'no':>7} {explored:9}  {goal or ''}"
            )
            rows.append(
                {
                    "plan": make.__name__,
                    "steps": count,
                    "level": level,
                    "ms": round(ms, 3),
                    "parse_ms": round(parse_ms, 3),
                    "passed": verdict.passed,
                    "explored": explored,
                    "goal_ms": goal,
                }
            )
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    chosen.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    missed = [row for row in rows if row["goal_ms"] and row["ms"] > row["goal_ms"]]
    print("all goals met" if not missed else f"goals missed: {missed}")


if __name__ == "__main__":
    main()
