"""A simulated run has the same attempts, verdicts and costs as a real run with the simulated author."""

import os
from dataclasses import replace

import pytest

from actors.planning.kind import CODEC
from actors.planning.prepare import PlanningInput, RunOptions
from replan.runs.engine import Engine
from replan.runs.prepare import RunOrder, prepare
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_lab.experiments.simulation import LabSetup, simulate_run
from replan_lab.simulated.profile import load_profile
from replan_lab.simulated.verdict_filter import VerdictFilter
from runtime.core.clock import TrioClock
from runtime.journal.memory import open_memory

PROBLEM = (data_root() / "configs" / "problems" / "login_timeout.md").read_text()
PIPELINES = (
    ("search", "depth_first", {}),
    ("search", "blind", {"search_sees": "shuffled", "author_sees": "shuffled"}),
    ("search", "depth_first", {"search_sees": "verdict_only", "author_sees": "verdict_only"}),
    ("option_bc", None, {"false_accept": 0.2, "false_reject": 0.2}),
    ("option_ad", None, {}),
    ("search", "beam", {}),
    ("search", "restart", {}),
    ("search", "best_of", {}),
)
TRIALS = int(os.environ.get("REPLAN_TRIALS", "2"))
"""Trials of each pipeline; `make soak` has a thousand."""


def make_setup(workflow, search, filter_options, seed, name="base"):
    """Return the setup of a simulated run, the request of the same real run, and the registry of the latter."""
    known, profile = registry({}, {}), load_profile(name)
    model = f"simulated:{name}?seed={seed}"
    request = prepare(
        RunOrder(PlanningInput(PROBLEM, RunOptions(workflow=workflow, search=search)), model),
        config=UserConfig(),
        registry=known,
        environment={},
        now=0.0,
    ).request
    verdict_filter = VerdictFilter(profile, seed, **filter_options) if filter_options else None
    filtered = known if verdict_filter is None else replace(known, guards=verdict_filter.apply(known.guards))
    return LabSetup(request.pinned, request.limits, profile, known, verdict_filter), request, filtered


def summary(state):
    """Return the outcome, the cost, and every attempt with its verdict and cost."""
    nodes = [(n.node, n.status, n.verdict, n.artifact and n.artifact.content, n.used) for n in state.nodes.values()]
    return (
        state.run.finished and state.run.finished.outcome,
        state.run.ledger.spent,
        sorted(nodes, key=lambda node: node[0]),
    )


@pytest.mark.parametrize(("workflow", "search", "filter_options"), PIPELINES)
async def test_a_real_run_and_its_simulation_have_the_same_attempts(workflow, search, filter_options, autojump_clock):
    async with open_memory(CODEC, TrioClock()) as journal:
        for seed in range(TRIALS):
            setup, request, filtered = make_setup(workflow, search, filter_options, seed)
            engine = Engine(journal, filtered, TrioClock(), threads=False, environment={})
            await engine.begin(request, run=f"run-{seed}")
            real, _ = await engine.load(f"run-{seed}")
            simulated, _ = simulate_run(setup, PROBLEM, seed)
            assert summary(real) == summary(simulated)


def test_a_simulated_run_is_repeatable():
    setup, *_ = make_setup("search", "depth_first", {}, 3)
    assert simulate_run(setup, PROBLEM, 3) == simulate_run(setup, PROBLEM, 3)


def test_concurrent_steps_overlap_in_simulated_time():
    """The analysis and the recon begin together; the plan begins after the slower one."""
    setup, *_ = make_setup("option_b", None, {}, 1)
    _, events = simulate_run(setup, PROBLEM, 1)
    elapsed = {event.node: (event.at, event.elapsed) for event in events if event.kind == "artifact_produced"}
    analysis, recon = elapsed["g_analysis/v1.a1"], elapsed["g_recon/v1.a1"]
    assert analysis[0] == analysis[1]
    assert recon[0] == recon[1]
    plan = elapsed["g_plan/v1.a1"]
    assert plan[0] - plan[1] == pytest.approx(max(analysis[0], recon[0]))
