"""What a belief learns from recorded runs, and in how many failures its first move would differ."""

from functools import cache

import pytest

from replan.experiments.lab import simulate_run
from replan.experiments.preparation import prepare
from replan.tuning.belief_cases import differing, recorded
from replan.tuning.belief_estimate import Accepted
from tests.tuning.test_belief_estimate import POLICY, SHIPPED
from tests.tuning.test_race import PROBLEM, installed

SEEDS = 30


@cache
def events_of(folder, workflow, search):
    """Return the events of simulated runs, by run."""
    path = folder / f"{workflow}.yaml"
    path.write_text(
        f"name: runs\ndescription: d\nproblems: [{PROBLEM}]\nmodels: ['simulated:base']\nbaseline: one\n"
        f"pipelines: [{{name: one, workflow: {workflow}, search: {search}}}]\n"
    )
    prepared = prepare(path, installed())
    setup, text = prepared.arms[0].lab_setup, prepared.problems[0].text
    return {f"r{seed}": simulate_run(setup, text, seed) for seed in range(SEEDS)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for the definition."""
    return tmp_path_factory.mktemp("cases")


def test_a_run_has_its_rejections_and_ends_with_what_was_accepted(folder):
    for run, (state, events) in events_of(folder, "search", "depth_first").items():
        found = recorded(run, events, POLICY)
        items = found.case.items
        decided = [node for node in state.nodes.values() if node.decision is not None]
        assert len([item for item in items if not isinstance(item, Accepted)]) == len(decided)
        succeeded = state.end is not None and state.end.outcome == "success"
        assert isinstance(items[-1], Accepted) == succeeded
        assert all(choice.situation.policy is POLICY for choice in found.choices)


def test_a_table_never_differs_from_itself(folder):
    runs = [recorded(run, events, POLICY) for run, (_, events) in events_of(folder, "search", "depth_first").items()]
    different, total = differing(runs, SHIPPED, SHIPPED)
    assert (different, total) == (0, sum(len(run.choices) for run in runs))
    assert total > SEEDS


def test_other_causes_lead_to_other_first_moves(folder):
    runs = [recorded(run, events, POLICY) for run, (_, events) in events_of(folder, "search", "depth_first").items()]
    causes = {"analysis": 0.96, "recon": 0.01, "strategy": 0.01, "plan": 0.01, "other": 0.01, "unsolvable": 0.01}
    different, total = differing(runs, SHIPPED, SHIPPED.model_copy(update={"causes": causes}))
    assert 0 < different <= total


def test_a_search_with_branches_is_of_no_use(folder):
    _, events = events_of(folder, "search", "'beam:2'")["r0"]
    assert recorded("r0", events, POLICY) == "its search is beam:2"


def test_a_run_without_a_verdict_is_of_no_use():
    assert recorded("r0", [], POLICY) == "nothing was judged in it"
