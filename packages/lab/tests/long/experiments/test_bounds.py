"""The bounds: exact where they can be computed by hand, ordered by what a planner knows, larger with more calls."""

import pytest

from replan.setup.installation import data_root
from replan_lab.experiments.bounds import (
    NODES,
    Bound,
    InformedPlanner,
    ValueIteration,
    WorldLevels,
    bounds_of,
    success_at,
)
from replan_lab.simulated.profile import load_profile
from replan_lab.simulated.seeded import DIFFICULTIES, difficulties


def pipeline(name="base", **changes):
    return WorldLevels(load_profile(name).model_copy(update=changes))


def once(world):
    """Return the success of one attempt at every level, on the grid of difficulties."""
    odds, width = world.profile.odds, DIFFICULTIES // NODES
    every = difficulties(odds.alpha, odds.beta)
    middles = [every[node * width + width // 2] for node in range(NODES)]
    return float(world.causes[:4].sum()) * world.profile.easy**3 * sum(middles) / NODES


def test_with_four_calls_the_bound_is_one_attempt_at_every_level():
    world = pipeline()
    bound = ValueIteration(world, 4, 0.0).bound()
    assert bound.success == pytest.approx(once(world), rel=1e-9)
    assert bound.calls == pytest.approx(4 * (1 - world.profile.causes["unsolvable"]))


def test_where_only_the_plan_is_hard_the_bound_is_the_dialogue_at_the_plan():
    """With sure levels above, each further call is an attempt at the plan with all rejections in view."""
    world = pipeline("plan_level", easy=1.0)
    unsolved, success = [1.0] * NODES, 0.0
    for told in range(6):
        chances = world.chances[3, 3, min(told, 5)]
        unsolved = [left * (1 - chance) for left, chance in zip(unsolved, chances, strict=True)]
        success = 1 - sum(unsolved) / NODES
    assert ValueIteration(world, 4 + 5, 0.0).bound().success == pytest.approx(success, rel=1e-9)


@pytest.mark.parametrize("name", ["base", "held_out_even"])
def test_more_knowledge_and_more_calls_find_more(name):
    """The informed planner is simulated on 400 problems, so its error is allowed for."""
    world = pipeline(name)
    clairvoyant = [ValueIteration(world, cap, 0.0).bound().success for cap in (6, 10, 20)]
    informed = [InformedPlanner(world, cap, 0.0, 400).run() for cap in (6, 10, 20)]
    assert clairvoyant == sorted(clairvoyant)
    assert all(bound.success <= best + 0.05 for bound, best in zip(informed, clairvoyant, strict=True))
    assert informed[2].success > informed[0].success
    assert all(bound.calls <= bound.cap for bound in informed)


def test_what_comes_again_helps_a_planner_only_where_it_says_something():
    """In `base` a right view comes again with its meaning; where no meaning comes again, a comparison says nothing."""
    sees, blind = (
        [InformedPlanner(pipeline("held_out_even", meanings_vary=vary), cap, 0.0, 1000).run() for cap in (14, 20, 30)]
        for vary in (0.0, 1.0)
    )
    gained = [one.success - other.success for one, other in zip(sees, blind, strict=True)]
    assert sum(gained) / len(gained) > 0.01


def test_a_price_makes_planners_give_up_earlier():
    world = pipeline()
    free, priced = (InformedPlanner(world, 20, price, 200).run() for price in (0.0, 0.05))
    assert priced.calls < free.calls
    assert ValueIteration(world, 20, 0.05).bound().calls < ValueIteration(world, 20, 0.0).bound().calls


def test_a_world_with_other_levels_has_no_bounds():
    own = data_root() / "docs" / "experiments" / "full" / "profiles"
    assert list(bounds_of(load_profile("chain_2", own=own), (10,))) == []


def test_a_bound_is_read_off_between_its_points():
    points = [Bound("b", 10, 0.0, 0.2, 5.0), Bound("b", 20, 0.0, 0.4, 10.0), Bound("b", 30, 0.0, 0.1, 6.0)]
    assert success_at(points, 7.5) == pytest.approx(0.3)
    assert (success_at(points, 2.0), success_at(points, 30.0)) == (0.2, 0.4)
