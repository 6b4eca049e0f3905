"""The laboratory plays the pure machine as the shell would: the same trials end in the same way, attempt by attempt."""

from dataclasses import replace

import pytest

from actors.config.model_spec import parse_model_spec
from actors.simulated.model import load_profile
from actors.simulated.verdict_filter import Lens
from replan.experiments.lab import Bench, play
from replan.runs.engine import CODEC, Engine
from replan.runs.prepare import RunOptions, prepare_run
from replan.setup.data_files import data_root
from replan.setup.plugins import registry
from replan.setup.settings import Choice, UserConfig
from runtime.core.clock import TrioClock
from runtime.journal.memory import open_memory

PROBLEM = (data_root() / "configs" / "problems" / "login_timeout.md").read_text()
PIPELINES = (
    ("search", "depth_first", {}),
    ("search", "blind", {"feedback": "shuffled"}),
    ("search", "depth_first", {"feedback": "verdict_only"}),
    ("option_bc", None, {"false_accept": 0.2, "false_reject": 0.2}),
    ("option_ad", None, {}),
    ("search", "beam", {}),
    ("search", "restart", {}),
    ("search", "best_of", {}),
)
TRIALS = 25
"""Of each pipeline: 200 together."""


def bench(workflow, search, lens, seed, name="base"):
    """Return a bench, the job that the shell would begin, and the registry that it would do so with."""
    known, profile = registry({}, {}), load_profile(name, data_root())
    model = f"simulated:{name}?seed={seed}"
    job = prepare_run(
        PROBLEM,
        RunOptions(workflow=workflow, search=search),
        Choice(model, parse_model_spec(model)),
        config=UserConfig(),
        registry=known,
        root=data_root(),
        environment={},
        now=0.0,
    )
    through = Lens(profile, seed, **lens) if lens else None
    seen = known if through is None else replace(known, guards=through.over(known.guards))
    return Bench(job.pinned, job.limits, profile, known, through), job, seen


def story(state):
    """Return all that was attempted, and how it was judged and paid."""
    nodes = [(n.node, n.status, n.verdict, n.artifact and n.artifact.content, n.used) for n in state.nodes.values()]
    return (
        state.run.finished and state.run.finished.outcome,
        state.run.ledger.spent,
        sorted(nodes, key=lambda node: node[0]),
    )


@pytest.mark.parametrize(("workflow", "search", "lens"), PIPELINES)
async def test_the_shell_ends_each_trial_as_the_laboratory_does(workflow, search, lens, autojump_clock):
    async with open_memory(CODEC, TrioClock()) as journal:
        for seed in range(TRIALS):
            ready, job, seen = bench(workflow, search, lens, seed)
            engine = Engine(journal, seen, TrioClock(), threads=False, environment={})
            await engine.begin(job, run=f"run-{seed}")
            shell, _ = await engine.load(f"run-{seed}")
            lab, _ = play(ready, PROBLEM, seed)
            assert story(shell) == story(lab)


def test_the_same_trial_comes_out_the_same():
    ready, *_ = bench("search", "depth_first", {}, 3)
    assert play(ready, PROBLEM, 3) == play(ready, PROBLEM, 3)


def test_times_are_those_of_the_profile():
    """Two steps that need nothing of each other are worked on side by side."""
    ready, *_ = bench("option_b", None, {}, 1)
    _, events = play(ready, PROBLEM, 1)
    elapsed = {event.node: (event.at, event.elapsed) for event in events if event.kind == "artifact_produced"}
    analysis, recon = elapsed["g_analysis/v1.a1"], elapsed["g_recon/v1.a1"]
    assert analysis[0] == analysis[1]
    assert recon[0] == recon[1]
    plan = elapsed["g_plan/v1.a1"]
    assert plan[0] - plan[1] == pytest.approx(max(analysis[0], recon[0]))
