"""The curves of the calibration: what certain chances must give, and where a tree search ends."""

import pytest

from actors.simulated.profile import AuthorOdds, Critic
from actors.simulated.seeded import DIFFICULTIES, difficulties
from replan.experiments.calibration import CrosswordTree, best_of


def tree(chance=1.0, width=2, depth=3, nodes=100, critic=None):
    """Return a tree search that has ended."""
    made = CrosswordTree(chance, width, depth, nodes, critic, ("words",))
    made.search()
    return made


def found(made):
    return made.visited, made.reached, made.deepest, made.best


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, (2 + 4 + 8, 3, 3, 3)),
        ({"width": 1}, (3, 3, 3, 3)),
        ({"depth": 1}, (2, 1, 1, 1)),
        ({"nodes": 2}, (2, 2, 2, 2)),
        ({"nodes": 0}, (0, 0, 0, 0)),
        ({"chance": 0.0}, (14, 3, 0, 0)),
        ({"critic": Critic(detects=1.0, objects=0.0)}, (14, 3, 3, 3)),
        ({"critic": Critic(detects=0.0, objects=1.0)}, (2, 1, 1, 1)),
        ({"chance": 0.0, "critic": Critic(detects=1.0, objects=0.0)}, (2, 1, 0, 0)),
        ({"chance": 0.0, "critic": Critic(detects=0.0, objects=1.0)}, (14, 3, 0, 0)),
    ],
)
def test_a_search_visits_every_candidate_that_its_limits_and_its_critic_leave(fields, expected):
    assert found(tree(**fields)) == expected


def test_more_samples_solve_more():
    odds = AuthorOdds(alpha=2.0, beta=2.0)
    shares = best_of(odds, (1, 2, 8))
    assert shares[1] == pytest.approx(0.5, abs=0.001)
    assert shares[1] < shares[2] < shares[8] < 1


def test_difficulties_are_evenly_spaced_quantiles():
    chances = difficulties(1.0, 1.0)
    assert len(chances) == DIFFICULTIES == 512
    assert chances[0] == pytest.approx(4.5 / 4096)  # The middle one of the first eight quantiles of 4096.
    assert chances[-1] == pytest.approx(4092.5 / 4096)
