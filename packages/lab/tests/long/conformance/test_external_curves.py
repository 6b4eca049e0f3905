"""The simulated author held against published curves: points within their tolerance, dialogues by likelihood."""

from functools import cache

import pytest

from replan_lab.experiments.calibration import calibrate, judge_curves, load_calibration
from replan_lab.simulated.profile import load_profile
from tests.support.external import FOLDER

CALIBRATION = load_calibration()
ROWS = [row.name for rows in (CALIBRATION.best_of, CALIBRATION.pruning) for row in rows]
CURVES = FOLDER / "curves"
BLOCKSWORLD = next(row for row in CALIBRATION.dialogues if row.name == "gpt4_blocksworld")


@cache
def lines():
    """Return all comparisons. Cached, because they take some seconds."""
    return calibrate(CALIBRATION, CURVES)


def test_all_recorded_points_are_compared():
    """Best-of-k and pruning, point by point."""
    assert {line["row"] for line in lines()} == set(ROWS)
    assert len(lines()) == 32


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_calibration_holds(row):
    assert {line["holds"] for line in lines() if line["row"] == row} == {"yes"}


def test_the_held_out_half_does_not_reject_the_model_of_the_base_profile():
    """The fit to the other half and to all instances, and what the curve says about hypotheses, are as published."""
    (fit,), tests = judge_curves(CALIBRATION.model_copy(update={"dialogues": (BLOCKSWORLD,), "trials": ()}), CURVES)
    assert fit["holds"] == "yes"
    assert fit["held_out_p"] > 0.01
    found = {test["hypothesis"]: test for test in tests}
    assert found["no_effect"]["p"] < 0.01
    assert found["first_only"]["p"] > 0.05
    assert found["first_only"]["power"] < 0.2
    assert found["no_effect"]["power"] > 0.5


def test_a_model_that_the_held_out_half_contradicts_is_rejected():
    """Fitted to instances that are solved at once, and held against instances that are not."""
    from replan_lab.experiments.likelihood import InstanceResult, held_out_p, posterior_draws  # It loads scipy.

    easy, hard = [InstanceResult(1, solved=True)] * 25, [InstanceResult(15, solved=False)] * 25
    draws = posterior_draws(easy, 20, seed=1)
    assert held_out_p(draws, hard, seed=2) < 0.01
    assert held_out_p(draws, easy, seed=2) > 0.01


def test_a_row_can_fail():
    """With equal odds for all problems, which the records contradict, the curves are outside the tolerances."""
    odds = CALIBRATION.best_of[0].odds.model_copy(update={"alpha": 73.0, "beta": 927.0})
    row = CALIBRATION.best_of[0].model_copy(update={"odds": odds})
    comparisons = calibrate(CALIBRATION.model_copy(update={"best_of": (row,), "instances": 500}), CURVES)
    missed = [line["what"] for line in comparisons if line["row"] == row.name and line["holds"] == "NO"]
    assert {"best of 10, generated", "best of 100, generated"} <= set(missed)


def test_the_base_profile_has_the_odds_of_the_row_that_it_names():
    rows = {row.name: row for row in CALIBRATION.dialogues}
    base = load_profile("base")
    assert base.odds == rows["gpt4_blocksworld"].odds
    assert base.critic == CALIBRATION.pruning[0].critic
