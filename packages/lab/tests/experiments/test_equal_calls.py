"""The comparison at equal calls: caps, pairs, interpolation, Holm's correction, and arms that divide their budget."""

from statistics import NormalDist

import pytest

from replan_lab.experiments.definition import DIVIDES_CALLS
from replan_lab.experiments.equal_calls import equal_calls_tables
from replan_lab.experiments.results import ResultsFolder, Trial
from replan_lab.experiments.runner import run_simulated
from replan_lab.experiments.tables import mean_interval
from runtime.core.errors import UsageProblem

CAPS = {"caps": [5, 10, 20], "baseline_cap": 10, "searches": ["depth_first", "restart"]}


def trial(arm, seed, *, solved, calls, help_calls=0.0):
    return Trial(
        arm=arm,
        problem="p",
        seed=seed,
        outcome="success" if solved else "budget_exhausted",
        passed=solved,
        solved=solved,
        calls=calls,
        help_calls=help_calls,
        tokens=1,
        micro_usd=1,
        seconds=1.0,
    )


@pytest.fixture
def tables(prepared):
    """Return the tables of an experiment with two arms and these (solved, calls) by arm."""

    def of(base, other, **help_calls):
        experiment = prepared(**CAPS, baseline="search/depth_first").experiment
        trials = [
            trial(f"search/{arm}", seed, solved=solved, calls=calls, **help_calls)
            for arm, ends in (("depth_first", base), ("restart", other))
            for seed, (solved, calls) in enumerate(ends)
        ]
        return equal_calls_tables(experiment, trials)

    return of


def rows(table, arm, *columns):
    return [tuple(row[column] for column in columns) for row in table if row["arm"] == arm]


def test_success_within_a_cap_counts_with_the_calls_up_to_it(tables):
    """An arm that has stopped keeps its last value."""
    made = tables([(True, 4), (False, 8)], [(True, 12), (True, 6)])["equal_calls"]
    assert rows(made, "search/depth_first", "cap", "success", "calls_mean") == [
        (5, 0.5, 4.5),
        (10, 0.5, 6),
        (20, 0.5, 6),
    ]
    assert rows(made, "search/restart", "cap", "success", "calls_mean") == [(5, 0, 5), (10, 0.5, 8), (20, 1, 9)]


def test_arms_are_compared_at_the_baselines_mean_calls(tables):
    """The baseline makes 6 calls in the mean; the other arm reaches 6 with a cap of 6: one of two solved."""
    made = tables([(True, 4), (False, 8)], [(True, 12), (True, 6)])["equal_mean"]
    assert rows(made, "search/restart", "calls_mean", "baseline_calls_mean", "success") == [(6.0, 6.0, 0.5)]
    between = tables([(True, 4), (False, 7)], [(True, 12), (True, 6)])["equal_mean"]
    assert rows(between, "search/restart", "calls_mean", "success") == [(5.5, 0.25)]


def test_an_arm_that_stops_before_the_baseline_keeps_its_last_success(tables):
    made = tables([(True, 9), (False, 9)], [(True, 3), (False, 4)])["equal_mean"]
    assert rows(made, "search/restart", "calls_mean", "baseline_calls_mean", "success") == [(3.5, 9.0, 0.5)]


def test_answers_of_people_count_as_calls(tables):
    made = tables([(True, 4), (False, 8)], [(True, 4), (True, 4)], help_calls=5.0)["equal_calls"]
    assert rows(made, "search/restart", "cap", "success") == [(5, 0), (10, 1), (20, 1)]


def test_p_values_are_exact_and_corrected_by_holm(tables):
    """Ten pairs of ten differ in one direction at every cap: p = 2 / 1024, corrected for three comparisons."""
    made = tables([(False, 5)] * 10, [(True, 5)] * 10)["equal_calls"]
    found = rows(made, "search/restart", "p", "p_holm")
    assert found == [(pytest.approx(2 / 1024, abs=1e-6), pytest.approx(6 / 1024, abs=1e-6))] * 3
    assert rows(made, "search/depth_first", "p", "p_holm") == [(None, None)] * 3


def test_the_mean_over_worlds_has_an_interval_over_worlds_and_the_least_and_the_most(prepared):
    """Each world is one value. In one the arm solves every second problem more, in the other none: t is 12.706."""
    models = ["simulated:base", "simulated:muddled"]
    experiment = prepared(**CAPS, models=models, mean_of_worlds=True, baseline="search/depth_first").experiment
    trials = [
        trial(f"search/{arm}@{world}", seed, solved=(arm, world, seed % 2) == ("restart", "base", 0), calls=4)
        for seed in range(4)
        for arm in ("restart", "depth_first")
        for world in ("base", "muddled")
    ]
    (row,) = equal_calls_tables(experiment, trials)["worlds"]
    assert (row["arm"], row["worlds"], row["trials"]) == ("search/restart", 2, 8)
    assert (row["delta_success"], row["delta_least"], row["delta_most"]) == (0.25, 0.0, 0.5)
    assert (row["delta_low"], row["delta_high"]) == pytest.approx(
        (0.25 - 12.706 * 0.25, 0.25 + 12.706 * 0.25), abs=1e-3
    )
    by_problem = mean_interval([0.5, 0.0, 0.5, 0.0])
    assert (row["problems_low"], row["problems_high"]) == pytest.approx(by_problem, abs=1e-3)


def test_intervals_over_worlds_hold_together_for_all_arms(prepared):
    """Two arms beside the baseline in two worlds: four intervals of worlds and arms, two of arms."""
    models = ["simulated:base", "simulated:muddled"]
    changes = CAPS | {"searches": ["depth_first", "restart", "beam:2"]}
    experiment = prepared(**changes, models=models, mean_of_worlds=True, baseline="search/depth_first").experiment
    trials = [
        trial(arm.name, seed, solved=("restart" in arm.name or arm.model.endswith("base")) and seed % 2 == 0, calls=4)
        for seed in range(40)
        for arm in experiment.arms()
    ]
    made, arm = equal_calls_tables(experiment, trials), "search/restart"
    muddled = next(row for row in made["equal_mean"] if row["arm"] == arm and row["model"] == "simulated:muddled")
    differences = [float(seed % 2 == 0) for seed in range(40)]
    z = NormalDist().inv_cdf(1 - 0.05 / 2 / 4)
    expected = mean_interval(differences, z)
    assert (muddled["delta_low"], muddled["delta_high"]) == pytest.approx(expected, abs=1e-4)
    assert mean_interval(differences)[0] > expected[0]
    over = next(row for row in made["worlds"] if row["arm"] == arm)
    assert over["delta_high"] - over["delta_success"] == pytest.approx(25.452 * 0.25, abs=1e-2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bounds": True, "caps": []}, "needs `caps`"),
        ({"mean_of_worlds": True, "caps": []}, "needs `caps`"),
    ],
)
def test_an_invalid_comparison_is_reported_in_one_line(prepared, changes, message):
    with pytest.raises(UsageProblem, match=message):
        prepared(**{"caps": [5, 10], **changes})


@pytest.mark.parametrize("search", ["depth_first", "restart", "iterative_deepening", "best_first", "breadth_first"])
def test_a_search_that_does_not_divide_its_calls_finds_the_same_within_a_smaller_cap(prepared, search):
    """So one trial with the largest cap stands for every smaller one."""
    assert search not in DIVIDES_CALLS
    pipeline = {"name": "mine", "search_config": {"max_total_calls": 40}}
    large, small = (
        prepared(pipelines=[pipeline], searches=[search], baseline="mine", max_calls=cap) for cap in (40, 12)
    )
    for seed in range(5):
        whole, cut = (each.arms[0].lab_trial(each.problems[0], seed) for each in (large, small))
        assert cut.solved == (whole.solved and whole.calls <= 12)
        assert min(whole.calls, 12) - 1 <= cut.calls <= 12  # A pair of concurrent calls may not fit.


def test_a_search_that_divides_its_calls_is_tried_with_each_cap(prepared, tmp_path):
    experiment = prepared(**{**CAPS, "searches": ["depth_first", "beam"]}, baseline="search/depth_first")
    assert [arm.arm.label for arm in experiment.arms] == [
        "search/depth_first",
        "search/beam:5_calls",
        "search/beam:10_calls",
        "search/beam:20_calls",
    ]
    assert [arm.calls_max for arm in experiment.arms] == [20, 5, 10, 20]
    trials = run_simulated(experiment, ResultsFolder(tmp_path, experiment.header()), lambda done, of: None, 1)
    made = equal_calls_tables(experiment.experiment, trials)
    assert len(rows(made["equal_calls"], "search/beam", "cap")) == 3
    assert len(rows(made["equal_mean"], "search/beam", "arm")) == 1
