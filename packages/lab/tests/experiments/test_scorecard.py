"""The scorecard has the metrics of each arm, with their confidence intervals."""

import math

import pytest

from replan_lab.experiments.results import StepUse, Trial
from replan_lab.experiments.tables import mean_interval, ratio_interval, scorecard, wilson_interval


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


def column(rows, *names, arm="search"):
    """Return the values of these columns in the rows of an arm."""
    return [tuple(row[name] for name in names) for row in rows if row["arm"] == arm]


UNKNOWN = [trial(solved=None, passed=True), trial(seed=1, solved=None, passed=False)]
CATEGORIES = [trial(category="bug_fix"), trial(seed=1, category="feature"), trial(seed=2)]
PASSED = [trial("search", n, solved=n < 2, passed=n < 5) for n in range(10)]


@pytest.mark.parametrize(
    ("trials", "table", "columns", "expected"),
    [
        pytest.param(
            TRIALS, "arms", ("trials", "success", "calls_mean", "delta_success"), [(10, 0.6, 14.4, 0.3)], id="S41"
        ),
        pytest.param(TRIALS, "arms", ("backtrack_rate", "backtracks_mean"), [(0.6, 1.2)], id="S41: backtracks"),
        (TRIALS, "arms", ("calls_per_success", "usd_per_success"), [(24.0, 0.024)]),
        pytest.param(
            TRIALS,
            "budgets",
            ("calls", "success"),
            [(1, 0), (5, 0.6), (10, 0.6), (20, 0.6), (30, 0.6)],
            id="S42, S43: success within so many calls",
        ),
        pytest.param(
            TRIALS,
            "depths",
            ("group", "depth", "rejections", "share"),
            [("plan", 0, 0, 0.0), ("plan", 1, 6, 0.5), ("plan", 2, 6, 0.5), ("recon", 0, 0, None)],
            id="S42: by the level at fault where problems have no category",
        ),
        pytest.param(CATEGORIES, "causes", ("group",), [("all",), ("bug_fix",), ("feature",)], id="categories"),
        pytest.param(
            TRIALS,
            "steps",
            ("step", "attempts", "epsilon", "calls_per_trial", "seconds_per_attempt"),
            [("g_plan", 20, 0.3, 2, 1.5)],
            id="S137: per step and option",
        ),
        (TRIALS, "rules", ("rule", "decisions", "per_trial"), [("structure", 12, 1.2)]),
        pytest.param(PASSED, "arms", ("guard_pass", "success"), [(0.5, 0.2)], id="separate columns"),
        pytest.param(UNKNOWN, "arms", ("success",), [(0.5,)], id="the guards' verdict where nothing else is known"),
        pytest.param(
            [trial(solved=False)], "arms", ("calls_per_success", "usd_per_success"), [(None, None)], id="no success"
        ),
    ],
)
def test_a_table_has_the_metrics_of_an_arm(trials, table, columns, expected):
    """S41, S42, S43, S137: success, calls, steps back, steps, and the difference to a baseline."""
    assert column(card(trials)[table], *columns) == expected


def test_values_lie_within_their_intervals_and_the_baseline_does_not_differ_from_itself():
    search, base = card()["arms"]
    assert search["delta_low"] < 0.3 < search["delta_high"]
    assert base["delta_success"] == 0
    step = card()["steps"][0]
    assert step["epsilon_low"] < 0.3 < step["epsilon_high"]


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
