"""Wall-clock time of concurrent branches and steps, with a slow model server and real HTTP calls.

    python benchmarks/bench_branches.py [--rounds N] [--latency SECONDS]

The server answers each request after a fixed time, so an ideal search takes this time once per layer, at any width. A
beam of four is compared with a beam of one at the same depth (goal: at most 1.15 times as long), and two concurrent
steps with the slower of them alone (goal: at most 1.05 times).

Prints a table, writes results/branches.json.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import trio
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import interleave, provenance_of, ratios, spread, spread_text, table, verdict, write

from actors.planning.kind import CODEC
from actors.planning.prepare import PlanningInput, RunOptions
from replan.runs.engine import Engine
from replan.runs.prepare import RunOrder, prepare
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig, choose_model
from runtime.core.clock import SystemClock
from runtime.journal.memory import open_memory
from tests.support.answers import Answer, request_parts
from tests.support.artifacts import GOOD, PROBLEM
from tests.support.openai_server import serve

BEAM_GOAL, STEPS_GOAL = 1.15, 1.05


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds (3)")
    parser.add_argument("--latency", type=float, default=1.0, help="seconds of an answer (1.0)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serve(slow(options.latency)) as server:
        alone, both = workflow(folder, "g_analysis"), workflow(folder, "g_analysis", "g_recon")
        cases = {
            "beam:1": lambda: seconds(server, "search", "beam:1", 4),
            "beam:4": lambda: seconds(server, "search", "beam:4", 16),
            "analysis": lambda: seconds(server, alone, "depth_first", 1),
            "analysis and recon": lambda: seconds(server, both, "depth_first", 2),
        }
        facts = provenance_of("trio", "openai", "anyio")
        times = interleave(cases, options.rounds)
    results = {
        **facts,
        "rounds": options.rounds,
        "latency_seconds": options.latency,
        "seconds": {name: spread(values) for name, values in times.items()},
        "ratios": {
            "beam:4 to beam:1": ratios(times["beam:4"], times["beam:1"]),
            "both steps to the slower": ratios(times["analysis and recon"], times["analysis"]),
        },
        "goals": {"beam:4 to beam:1": BEAM_GOAL, "both steps to the slower": STEPS_GOAL},
    }
    print(tables(results))
    write("branches", results)


def tables(results):
    """Return the results as Markdown."""
    rows = [(name, spread_text(values), "") for name, values in results["seconds"].items()]
    goals = results["goals"]
    rows += [
        (name, spread_text(ratio), verdict(ratio["median"], goals[name])) for name, ratio in results["ratios"].items()
    ]
    title = f"Seconds with answers after {results['latency_seconds']:g} s, {results['rounds']} rounds:"
    return f"{title}\n\n{table(('', 'median (least to most)', 'goal'), rows)}"


def slow(latency):
    """Return a handler that answers with different valid artifacts after a fixed time; recon takes 80 % of it."""

    def handle(_body, headers, n):
        step = request_parts(headers["x-client-request-id"])["step"]
        artifact = dict(GOOD[step])
        key = {"g_plan": "plan_id", "g_recon": "reproduction_steps"}.get(step, "rationale")
        artifact[key] = [f"way {n}"] if step == "g_recon" else f"variant {n}"
        return Answer.value(artifact).slowly(latency * (0.8 if step == "g_recon" else 1.0))

    return handle


def workflow(folder, *steps):
    """Write a workflow of independent steps; return its path."""
    guards = {"g_analysis": "analysis_valid", "g_recon": "recon_valid"}
    pairs = {step: {"generator": "model", "guard": guards[step]} for step in steps}
    path = Path(folder) / f"{len(steps)}.yaml"
    path.write_text(yaml.safe_dump({"name": "side_by_side", "action_pairs": pairs}))
    return str(path)


def seconds(server, name, search, calls):
    """Return the seconds of a run; exit if it fails or makes another number of calls than `calls`."""
    environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
    clock, known = SystemClock(), registry()

    async def run():
        async with open_memory(CODEC, clock) as journal:
            engine = Engine(journal, registry=known, clock=clock, environment=environment)
            choice = choose_model("slow", environment, UserConfig())
            run_options = RunOptions(workflow=name, search=search)
            request = prepare(
                RunOrder(PlanningInput(PROBLEM, run_options), choice.text),
                config=UserConfig(),
                registry=known,
                environment=environment,
                now=clock.now(),
            ).request
            started = time.perf_counter()
            result = await engine.begin(request)
            return result, time.perf_counter() - started

    result, elapsed = trio.run(run)
    if result.outcome != "success" or result.calls != calls:
        sys.exit(f"{name}, {search}: {result.outcome} with {result.calls} calls, {calls} were expected")
    return elapsed


if __name__ == "__main__":
    main()
