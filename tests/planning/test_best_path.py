"""Which path a result has: the winning one, or else the best of those that were validated (S36)."""

from actors.planning.result import best_path
from runtime.core.ledger import Limits
from tests.support.worlds import World, passed, pinned, rejected

CHAIN = {
    "recon": {"rmax": 1, "backtrack_budget": 0, "role": "recon"},
    "strategy": {"requires": ["recon"], "rmax": 1, "backtrack_budget": 1, "role": "strategy"},
    "plan": {"requires": ["strategy"], "rmax": 1, "role": "plan"},
}


def path_of(scores, *, search="depth_first", steps=CHAIN, calls=30):
    """Return the outcome of a run and the nodes of its path; `scores` has those of accepted nodes, None rejects one."""

    def judge(request, _):
        score = scores.get(request.node, 1.0)
        return rejected("plan.goal_unreachable") if score is None else passed().model_copy(update={"score": score})

    world = World(pinned(steps, search=search), judge=judge, limits=Limits(calls=calls))
    state = world.run()
    return str(state.run.finished.outcome), [node.node for node in best_path(state)]


def test_the_longest_path_that_was_validated_is_the_best():
    """The second strategy was rejected, so that the first one, which was cleared, got furthest."""
    found = path_of({"plan/v1.a1": None, "strategy/v2.a1": None})
    assert found == ("backtrack_ceiling", ["recon/v1.a1", "strategy/v1.a1"])


def test_a_longer_path_is_better_than_one_with_higher_scores():
    """The recon that is accepted now has the highest score, and no strategy was accepted on it."""
    steps = {**CHAIN, "recon": {**CHAIN["recon"], "backtrack_budget": 1}}
    steps["strategy"] = {**steps["strategy"], "backtrack_budget": 2}
    scores = {"recon/v1.a1": 0.1, "strategy/v1.a1": 0.1, "plan/v1.a1": None, "strategy/v2.a1": None}
    outcome, nodes = path_of(scores, steps=steps, calls=5)
    assert (outcome, nodes) == ("budget_exhausted", ["recon/v1.a1", "strategy/v1.a1"])


def test_of_paths_of_one_length_that_with_the_highest_scores_is_the_best():
    scores = {"plan/v1.a1": None, "plan/v2.a1": None}
    for first, second in ((0.9, 0.4), (0.4, 0.9)):
        outcome, nodes = path_of({**scores, "strategy/v1.a1": first, "strategy/v2.a1": second})
        better = "strategy/v1.a1" if first > second else "strategy/v2.a1"
        assert (outcome, nodes) == ("backtrack_ceiling", ["recon/v1.a1", better])


def test_of_equal_paths_the_one_that_is_accepted_now_is_the_best():
    assert path_of({"plan/v1.a1": None, "plan/v2.a1": None})[1] == ["recon/v1.a1", "strategy/v2.a1"]


def test_the_path_of_a_success_is_that_of_the_plan_that_won():
    """Of the plans of a beam the one wins whose steps have the highest scores, whichever was first."""
    for first, second in ((0.9, 0.6), (0.6, 0.9)):
        outcome, nodes = path_of({"plan/v1.a1": first, "plan/v1.a1.b1": second}, search="beam:2")
        branch = "" if first > second else ".b1"
        assert (outcome, nodes) == ("success", [f"{step}/v1.a1{branch}" for step in CHAIN])
