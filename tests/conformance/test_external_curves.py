"""The simulated author compared with published success curves: every row is within its tolerance."""

from functools import cache

import pytest

from actors.simulated.model import load_profile
from replan.experiments.calibration import calibrate, load_calibration
from replan.setup.data_files import data_root
from tests.support.external import FOLDER

CALIBRATION = load_calibration(data_root())
ROWS = [
    row.name
    for rows in (CALIBRATION.best_of, CALIBRATION.dialogues, CALIBRATION.trials, CALIBRATION.pruning)
    for row in rows
]


@cache
def lines():
    """Return all comparisons. Cached, because they take some seconds."""
    return list(calibrate(CALIBRATION, FOLDER / "curves"))


def test_all_recorded_curves_are_compared():
    """Best-of-k, dialogues with a verifier, trials without and with memory, and pruning."""
    assert {line.row for line in lines()} == set(ROWS)
    assert len(ROWS) == 11
    assert len(lines()) == 116


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_calibration_holds(row):
    assert [line for line in lines() if line.row == row and not line.holds] == []


def test_a_row_can_fail():
    """With equal odds for all problems, which the records contradict, the curves are outside the tolerances."""
    odds = CALIBRATION.best_of[0].odds.model_copy(update={"alpha": 73.0, "beta": 927.0})
    row = CALIBRATION.best_of[0].model_copy(update={"odds": odds})
    comparisons = calibrate(CALIBRATION.model_copy(update={"best_of": (row,), "instances": 500}), FOLDER / "curves")
    missed = [line.what for line in comparisons if line.row == row.name and not line.holds]
    assert {"best of 10, generated", "best of 100, generated"} <= set(missed)


def test_the_base_profile_has_the_odds_of_the_row_that_it_names():
    rows = {row.name: row for row in CALIBRATION.dialogues}
    base = load_profile("base", data_root())
    assert base.odds == rows["gpt4_blocksworld"].odds
    assert base.critic == CALIBRATION.pruning[0].critic
