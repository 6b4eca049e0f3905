"""The scorecard has the metrics of each arm, with their confidence intervals."""

import math

import pytest

from replan.experiments.results import StepUse, Trial
from replan.experiments.tables import mean_interval, ratio_interval, scorecard, wilson_interval


def trial(arm="search", seed=0, *, solved=True, passed=None, calls=4, **more):
    values = {
        "problem": "p",
        "outcome": "success" if solved else "backtrack_ceiling",
        "passed": solved if passed is None else passed,
        "tokens": 10 * calls,
        "micro_usd": 1000 * calls,
        "seconds": float(calls),
        "steps": {"g_plan": StepUse(attempts=2, accepted=int(bool(solved)), calls=2, seconds=3.0)},
    }
    return Trial(arm=arm, seed=seed, solved=solved, calls=calls, **{**values, **more})


TRIALS = [
    *(trial(seed=n, calls=4, depths=(1, 2), cause="plan", rules={"structure": 2}) for n in range(6)),
    *(trial(seed=n, solved=False, calls=30, cause="recon") for n in range(6, 10)),
    *(trial("base", seed=n, solved=n < 3, calls=2, cause="plan" if n < 6 else "recon") for n in range(10)),
]


def card(trials=TRIALS, budgets=(1, 5, 10, 20, 30)):
    return scorecard(trials, dict.fromkeys(["search", "base", "unused"], "base"), budgets)


def test_arms_have_the_difference_to_the_baseline():
    """S41: success, calls, backtrack rate, and the difference to a baseline."""
    search, base = card()["arms"]
    assert (search["arm"], search["trials"], search["success"]) == ("search", 10, 0.6)
    assert search["calls_mean"] == 14.4
    assert search["calls_per_success"] == 24.0
    assert search["usd_per_success"] == 0.024
    assert search["backtrack_rate"] == 0.6
    assert search["backtracks_mean"] == 1.2
    assert search["delta_success"] == 0.3
    assert search["delta_low"] < 0.3 < search["delta_high"]
    assert base["delta_success"] == 0


def test_success_is_shown_by_budget():
    """S42, S43: success within 1, 5, 10, 20 and 30 calls."""
    rows = [row for row in card()["budgets"] if row["arm"] == "search"]
    assert [row["calls"] for row in rows] == [1, 5, 10, 20, 30]
    assert [row["success"] for row in rows] == [0, 0.6, 0.6, 0.6, 0.6]


def test_depths_are_shown_by_the_level_at_fault_where_problems_have_no_category():
    """S42: how far back each rejection went."""
    rows = [row for row in card()["depths"] if row["arm"] == "search"]
    assert [(row["group"], row["depth"], row["rejections"], row["share"]) for row in rows] == [
        ("plan", 0, 0, 0.0),
        ("plan", 1, 6, 0.5),
        ("plan", 2, 6, 0.5),
        ("recon", 0, 0, None),
    ]


def test_groups_are_categories_if_no_cause_is_known():
    rows = card([trial(category="bug_fix"), trial(seed=1, category="feature"), trial(seed=2)])["causes"]
    assert [row["group"] for row in rows] == ["all", "bug_fix", "feature"]


def test_each_step_has_its_epsilon_calls_and_seconds():
    """S137: per step and option."""
    row = card()["steps"][0]
    assert (row["arm"], row["step"], row["attempts"]) == ("search", "g_plan", 20)
    assert row["epsilon"] == 0.3
    assert row["epsilon_low"] < 0.3 < row["epsilon_high"]
    assert row["calls_per_trial"] == 2
    assert row["seconds_per_attempt"] == 1.5


def test_guard_pass_and_success_are_separate_columns():
    row = card([trial("search", n, solved=n < 2, passed=n < 5) for n in range(10)])["arms"][0]
    assert (row["guard_pass"], row["success"]) == (0.5, 0.2)


def test_success_is_the_guards_verdict_if_correctness_is_unknown():
    row = card([trial(solved=None, passed=True), trial(seed=1, solved=None, passed=False)])["arms"][0]
    assert row["success"] == 0.5


def test_decisions_are_counted_by_rule():
    assert card()["rules"] == [{"arm": "search", "rule": "structure", "decisions": 12, "per_trial": 1.2}]


def test_an_arm_without_a_success_has_no_calls_per_success():
    row = card([trial(solved=False)])["arms"][0]
    assert row["calls_per_success"] is None
    assert row["usd_per_success"] is None


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (10, 10, 0.722, 1.0)]
)
def test_wilsons_interval_has_its_published_values(hits, of, low, high):
    assert wilson_interval(hits, of) == pytest.approx((low, high), abs=0.001)


def test_no_cases_leave_everything_open():
    assert wilson_interval(0, 0) == (0, 1)
    assert mean_interval([1.0]) == (-math.inf, math.inf)
    assert ratio_interval([1.0], [0.0]) == (0, math.inf)


def test_the_interval_of_a_ratio_lies_around_it_and_narrows():
    few, many = (ratio_interval([4.0, 8.0] * n, [1.0, 1.0] * n) for n in (10, 1000))
    assert few[0] < many[0] < 6 < many[1] < few[1]


def test_a_success_at_exactly_the_budget_is_within_it():
    """S43: a trial that takes five calls counts for a budget of five, and not for one of four."""
    rows = card([trial(calls=5)], budgets=(4, 5, 6))["budgets"]
    assert [row["success"] for row in rows] == [0.0, 1.0, 1.0]


def test_depths_by_category_count_a_retry_in_place_as_depth_0():
    """S42, S44: the category counts whatever the simulated cause, and a category without rejections has no share."""
    trials = [
        trial(seed=0, category="bug", cause="plan", retries=2, depths=(1,)),
        trial(seed=1, category="bug", cause="recon", retries=1),
        trial(seed=2, category="feature", cause="plan", depths=(0, 2, 2)),
        trial(seed=3, category="quiet", cause="plan"),
    ]
    rows = card(trials)["depths"]
    columns = ("group", "depth", "rejections", "share", "per_trial")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("bug", 0, 3, 0.75, 1.5),
        ("bug", 1, 1, 0.25, 0.5),
        ("feature", 0, 1, 0.3333, 1.0),
        ("feature", 2, 2, 0.6667, 2.0),
        ("quiet", 0, 0, None, 0.0),
    ]
