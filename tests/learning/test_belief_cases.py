"""What a belief learns from recorded runs, and in how many failures its first move would differ."""

from functools import cache

import pytest

from actors.policy.history import NOTHING, Past
from actors.policy.table import Agreement, AuthorKind
from replan.experiments.preparation import prepare
from replan.experiments.simulation import simulate_run
from replan.learning.belief_estimate import Accepted
from replan.learning.belief_runs import FirstMoves, Runs, recorded
from tests.learning.test_belief_estimate import POLICY, SHIPPED
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


def runs_in(folder, workflow="search"):
    """Return what a belief learns from simulated runs."""
    events = events_of(folder, workflow, "depth_first")
    return [recorded(events, POLICY) for _, events in events.values()]


def test_a_run_has_its_rejections_and_ends_with_what_was_accepted(folder):
    for state, events in events_of(folder, "search", "depth_first").values():
        found = recorded(events, POLICY)
        items = found.case.items
        decided = [node for node in state.nodes.values() if node.decision is not None]
        assert len([item for item in items if not isinstance(item, Accepted)]) == len(decided)
        succeeded = state.end is not None and state.end.outcome == "success"
        assert isinstance(items[-1], Accepted) == succeeded
        assert all(choice.situation.policy is POLICY for choice in found.choices)


def test_a_table_never_differs_from_itself(folder):
    moves = FirstMoves(SHIPPED, SHIPPED)
    for run in runs_in(folder):
        moves.add(run)
    assert (moves.different, moves.total) == (0, sum(len(run.choices) for run in runs_in(folder)))
    assert moves.total > SEEDS


def test_other_causes_lead_to_other_first_moves(folder):
    causes = {"analysis": 0.96, "recon": 0.01, "strategy": 0.01, "plan": 0.01, "other": 0.01, "unsolvable": 0.01}
    moves = FirstMoves(SHIPPED, SHIPPED.model_copy(update={"causes": causes}))
    for run in runs_in(folder):
        moves.add(run)
    assert 0 < moves.different <= moves.total


def test_runs_that_went_alike_are_one_case_and_need_no_memory(folder):
    """Ten times the runs are as many cases; equal rejections are one object."""
    once, often = Runs(), Runs()
    for number in range(10):
        for run in runs_in(folder):
            often.add(run)
            if number == 0:
                once.add(run)
    assert (often.fit, len(often.cases)) == (10 * SEEDS, len(once.cases))
    items = [item for case in often.cases for item in case.items]
    assert len({id(item) for item in items}) == len(set(items)) < len(items) / 2


def test_runs_of_one_problem_have_one_name_whatever_its_white_space(folder):
    """So that they are in one half of the runs."""
    _, events = events_of(folder, "search", "depth_first")["r0"]
    spaced = [
        each.model_copy(update={"specification": f"  {each.specification}\n"}) if place == 0 else each
        for place, each in enumerate(events)
    ]
    other = [
        each.model_copy(update={"specification": "Another one."}) if place == 0 else each
        for place, each in enumerate(events)
    ]
    names = [recorded(version, POLICY).problem for version in (events, spaced, other)]
    assert names[0] == names[1] != names[2]
    assert len({run.problem for run in runs_in(folder)}) == 1


def test_what_a_case_says_does_not_depend_on_the_names_in_its_findings(folder):
    """The texts of findings differ from problem to problem; that they are equal or not is what counts."""
    _, events = events_of(folder, "search", "depth_first")["r0"]
    for item in recorded(events, POLICY).case.items:
        if isinstance(item, Past):
            assert all(code.isdigit() and not where for code, where in item.signature)


def test_equal_workflows_have_equal_shapes_whatever_their_model_and_policy(folder):
    shapes = {run.case.shape for run in runs_in(folder)}
    other = {run.case.shape for run in runs_in(folder, "option_a")}
    assert len(shapes) == len(other) == 1
    assert shapes != other


def test_agreement_is_compared_for_the_policy_that_is_tuned(folder):
    """Whatever policy a run was made with: its journal has what redone steps brought."""
    without = POLICY.model_copy(update={"belief": SHIPPED.model_copy(update={"agreement": None})})
    agreement = Agreement(compare="text", kinds=(AuthorKind(share=1, right=0.95, wrong=0.2),))
    goes_by_it = POLICY.model_copy(update={"belief": SHIPPED.model_copy(update={"agreement": agreement})})
    compared = {True: 0, False: 0}
    for _, events in events_of(folder, "search", "depth_first").values():
        for policy in without, goes_by_it:
            found = recorded(events, policy)
            items = [item for item in found.case.items if isinstance(item, Past)]
            compared[policy is goes_by_it] += sum(item.came != NOTHING for item in items)
            moves = FirstMoves(policy.belief, policy.belief)
            moves.add(found)
            assert moves.different == 0
    assert compared[False] == 0 < compared[True]


def test_a_search_with_branches_is_of_no_use(folder):
    _, events = events_of(folder, "search", "'beam:2'")["r0"]
    assert recorded(events, POLICY) == "its search is beam:2"


def test_a_run_without_a_verdict_is_of_no_use():
    assert recorded([], POLICY) == "nothing was judged in it"
