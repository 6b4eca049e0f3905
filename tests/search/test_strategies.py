"""The contract of the search strategies: limits, endings, soundness, and which of them are complete."""

import os
import random
from collections import Counter

import pytest

from actors.search.notation import NUMBERS, SINGLE_BRANCH, read_search
from tests.search.play import Alternatives, Play, in_order

WORLDS = int(os.environ.get("REPLAN_SEARCH_WORLDS", "30"))
WORLDS_MAX = max(WORLDS, 150)
"""As many are played as it takes to see every ending."""
SMALL = {
    "beam": ("beam:3", "beam:2x2"),
    "breadth_first": ("breadth_first:2",),
    "best_first": ("best_first:3",),
    "restart": ("restart:4",),
    "best_of": ("best_of:3",),
}
"""Numbers that suit small worlds; a search that is not named here is tested with its default numbers."""
SEARCHES = tuple(search for name in NUMBERS for search in SMALL.get(name, (name,)))


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_ends_within_all_limits_whatever_the_world_does(search):
    """S6, S9, S23, S24, S25: replies in any order, faults, takeovers and late replies included."""
    endings = Counter()
    for seed in range(WORLDS_MAX):
        if seed >= WORLDS and all(endings[each] for each in ("success", "budget_exhausted", "all_pruned")):
            break
        world = Play(search, seed)
        try:
            state = world.play()
            endings[state.run.finished.outcome] += 1
            endings["branches"] += len(state.branches) > 1
            if state.run.finished.outcome == "success":
                world.check_winner()
            else:
                assert not any(all(s.accepted for s in b.progress.values()) for b in state.branches if not b.pruned)
        except Exception as error:
            raise AssertionError(f"in world {seed} of {search}") from error
    assert endings["success"] > 0, "the worlds must include some with a solution"
    assert endings["budget_exhausted"] > 0
    assert endings["all_pruned"] > 0
    assert (endings["branches"] > 0) == (read_search(search).name not in SINGLE_BRANCH)


@pytest.mark.parametrize("search", SEARCHES)
def test_no_search_takes_more_calls_or_branches_than_its_cost_says(search):
    """S24: the numbers that `workflow cost` prints are upper bounds."""
    for seed in range(WORLDS // 2):
        world = Play(search, seed, calm=True)
        world.limits = world.limits.model_copy(update={"calls": 1_000, "tokens": None})
        state = world.play()
        strategy = world.config.strategy
        if state.round == 1:  # An answer resets the counts.
            assert len(state.branches) <= strategy.branches_max
            assert state.run.ledger.committed.calls <= strategy.calls_worst


@pytest.mark.parametrize(
    ("search", "same"),
    [("best_first", "depth_first"), ("beam:1", "depth_first"), ("best_of:1", "linear"), ("restart:1", "linear")],
)
def test_a_search_that_has_nothing_to_choose_from_is_the_plain_one(search, same):
    """S10: best-first search with binary verdicts makes the same attempts as depth-first search, in the same order."""
    for seed in range(2 * WORLDS if search == "best_first" else WORLDS // 2):
        first, second = Play(search, seed, binary=True, calm=True), Play(same, seed, binary=True, calm=True)
        first.play()
        second.play()
        assert first.events_as_data() == second.events_as_data(), f"world {seed}"


@pytest.mark.parametrize("search", ["breadth_first:2", "beam:4x2", "restart:4", "best_of:4"])
def test_a_complete_search_finds_a_plan_wherever_there_is_one(search):
    """S9: a search is complete if it tries every alternative of every step, by breadth or by enough samples.

    Two alternatives at each of two steps make four paths to the last step, where one visit tries both alternatives; so
    four samples take every path.
    """
    outcomes = Counter()
    for seed in range(WORLDS):
        world = Alternatives(search, seed)
        state = in_order(world, random.Random(seed))
        assert (state.run.finished.outcome == "success") == world.solvable(), f"world {seed}"
        outcomes[state.run.finished.outcome] += 1
    assert outcomes["success"] > outcomes.total() / 10
    assert outcomes["success"] < outcomes.total() * 9 / 10


def test_an_incomplete_search_misses_plans_but_never_claims_one():
    """Depth-first search misses plans: visits of a step that it used under one artifact are missing under others."""
    missed = Counter()
    for search in ("depth_first", "linear", "best_first"):
        for seed in range(100):
            world = Alternatives(search, seed)
            state = in_order(world, random.Random(seed))
            success = state.run.finished.outcome == "success"
            assert world.solvable() or not success
            missed[search] += world.solvable() and not success
    assert missed["depth_first"]
    assert missed["linear"]
