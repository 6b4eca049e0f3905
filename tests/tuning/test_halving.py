"""Successive halving: the order, the halves, and the paired difference, against values computed by hand."""

import pytest

from replan.experiments.equal_calls import Curve
from replan.experiments.results import Trial
from replan.tuning.race import Standing, common_pairs, difference, rungs_left, standings, survivors


def trial(arm, seed, calls, passed):
    return Trial(
        arm=arm,
        problem="p",
        seed=seed,
        outcome="success" if passed else "backtrack_ceiling",
        passed=passed,
        calls=calls,
        tokens=0,
        micro_usd=0,
        seconds=0.0,
    )


def curve(arm, *results, cap=10):
    """Return the curve of an entrant whose trials took so many calls; a negative number is a failure."""
    trials = {("p", seed): trial(arm, seed, abs(calls), calls > 0) for seed, calls in enumerate(results)}
    return Curve(arm, "simulated:base", {cap: trials})


def test_most_successes_come_first_then_the_fewest_calls_then_the_smaller_cap():
    good, frugal, bad = curve("good", 6, 6, 6, -10), curve("frugal", 4, 4, 4, -10), curve("bad", 2, 2, -10, -10)
    rows = standings([good, frugal, bad], [10, 5])
    assert [(row.entrant, row.cap, row.successes) for row in rows] == [
        ("frugal", 5, 3),  # (4 + 4 + 4 + 5) / 4 calls
        ("frugal", 10, 3),  # (4 + 4 + 4 + 10) / 4 calls
        ("good", 10, 3),
        ("bad", 5, 2),
        ("bad", 10, 2),
        ("good", 5, 0),
    ]
    assert [row.calls_mean for row in rows[:3]] == [4.25, 5.5, 7.0]


def test_a_larger_cap_wins_only_with_more_successes():
    rows = standings([curve("only", 1, 2, 3)], [3, 10])
    assert [(row.cap, row.successes) for row in rows] == [(3, 3), (10, 3)]


def test_only_common_pairs_count():
    longer, shorter = curve("longer", 1, 1, 1, 1), curve("shorter", 1, -9)
    assert common_pairs([longer, shorter]) == [("p", 0), ("p", 1)]
    assert [(row.trials, row.successes) for row in standings([longer, shorter], [10])] == [(2, 2), (2, 1)]


def test_without_a_common_pair_nobody_is_ahead():
    assert standings([curve("one", 1), curve("none")], [10]) == []
    assert standings([], [10]) == []


@pytest.mark.parametrize(("count", "left"), [(1, 1), (2, 1), (3, 2), (5, 3), (6, 3)])
def test_the_better_half_stays_rounded_up(count, left):
    rows = [Standing(f"e{number}", cap, 4, 4, 1.0) for number in range(count) for cap in (5, 10)]
    assert survivors(rows) == [f"e{number}" for number in range(left)]


@pytest.mark.parametrize("count", range(1, 40))
def test_the_rungs_halve_down_to_one(count):
    left, rungs = count, 0
    while left > 1 or rungs == 0:
        left, rungs = (left + 1) // 2, rungs + 1
    assert rungs_left(count) == rungs


def test_the_difference_is_paired():
    share, (low, high) = difference(curve("a", 1, 1, -9, 1), 10, curve("b", 1, -9, -9, -9), 10)
    assert share == 0.5  # The differences are 0, 1, 0, 1, with the standard deviation 0.57735.
    assert (round(low, 4), round(high, 4)) == (-0.0658, 1.0658)
