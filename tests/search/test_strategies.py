"""The contract of the search strategies: limits, endings, soundness, and which of them miss no plan."""

import os
import random
from collections import Counter

import pytest

from tests.search.play import Alternatives, Play, in_order

WORLDS = int(os.environ.get("REPLAN_SEARCH_WORLDS", "2000"))
PARTS = 4
"""The worlds of a search are played in so many tests, so that several processes can share them."""
SEARCHES = (
    "depth_first",
    "blind",
    "linear",
    "beam:3",
    "beam:2x2",
    "breadth_first:2",
    "best_first:3",
    "iterative_deepening",
    "restart:4",
    "best_of:3",
)


def worlds(part, count=WORLDS):
    """Return the seeds of one part."""
    return range(part, count, PARTS)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_ends_within_all_limits_whatever_the_world_does(search, part):
    """S6, S9, S23, S24, S25: replies in any order, faults, takeovers and late replies included."""
    endings = Counter()
    for seed in worlds(part):
        world = Play(search, seed)
        try:
            state = world.play()
            endings[state.run.finished.outcome] += 1
            endings["branches"] += len(state.branches) > 1
            if state.run.finished.outcome == "success":
                world.won()
            else:
                assert not any(all(s.accepted for s in b.progress.values()) for b in state.branches if not b.pruned)
        except Exception as error:
            raise AssertionError(f"in world {seed} of {search}") from error
    assert endings["success"] > 0, "worlds in which nothing ever works show little"
    assert endings["budget_exhausted"] > 0
    assert endings["all_pruned"] > 0
    assert (endings["branches"] > 0) == (search not in ("depth_first", "blind", "linear"))


@pytest.mark.parametrize("search", SEARCHES)
def test_no_search_takes_more_calls_or_branches_than_its_cost_says(search):
    """S24: what `workflow cost` prints is a bound."""
    for seed in range(WORLDS // 4):
        world = Play(search, seed, calm=True)
        world.limits = world.limits.model_copy(update={"calls": 1_000, "tokens": None})
        state = world.play()
        strategy = world.config.strategy
        if strategy is not None and state.round == 1:  # An answer gives the counts back.
            assert len(state.branches) <= strategy.branches_max
            assert state.run.ledger.committed.calls <= strategy.calls_worst


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    ("search", "same"),
    [("best_first", "depth_first"), ("beam:1", "depth_first"), ("best_of:1", "linear"), ("restart:1", "linear")],
)
def test_a_search_that_has_nothing_to_choose_from_is_the_plain_one(search, same, part):
    """S10: best-first with yes-or-no verdicts asks for the very attempts of depth-first, in its order."""
    for seed in worlds(part, WORLDS if search == "best_first" else WORLDS // 10):
        one, other = Play(search, seed, binary=True, calm=True), Play(same, seed, binary=True, calm=True)
        one.play()
        other.play()
        assert one.told() == other.told(), f"world {seed}"


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("search", ["breadth_first:2", "beam:4x2", "restart:4", "best_of:4"])
def test_a_complete_search_finds_a_plan_wherever_there_is_one(search, part):
    """S9: complete are those that draw every alternative at every place: by breadth, or by sampling often enough.

    Two alternatives at each of two places make four paths to the last place, at which a visit tries both: with four
    samples every path is taken.
    """
    found = Counter()
    for seed in worlds(part):
        world = Alternatives(search, seed)
        state = in_order(world, random.Random(seed))
        assert (state.run.finished.outcome == "success") == world.solvable(), f"world {seed}"
        found[state.run.finished.outcome] += 1
    assert found["success"] > found.total() / 10
    assert found["success"] < found.total() * 9 / 10


def test_the_incomplete_searches_say_truly_that_they_found_none():
    """Depth-first misses plans: the visits that it spends on one step are not there any more below another."""
    missed = Counter()
    for search in ("depth_first", "linear", "best_first"):
        for seed in range(200):
            world = Alternatives(search, seed)
            state = in_order(world, random.Random(seed))
            won = state.run.finished.outcome == "success"
            assert world.solvable() or not won
            missed[search] += world.solvable() and not won
    assert missed["depth_first"]
    assert missed["linear"]
