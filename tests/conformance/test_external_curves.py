"""The simulated author against success curves that others have recorded: every row within its tolerance."""

from functools import cache

import pytest

from actors.simulated.model import load_profile
from replan.experiments.calibration import calibrate, load_calibration
from replan.setup.data_files import data_root
from tests.support.external import FOLDER

GIVEN = load_calibration(data_root())
ROWS = [row.name for rows in (GIVEN.best_of, GIVEN.dialogues, GIVEN.trials, GIVEN.pruning) for row in rows]


@cache
def lines():
    """Return all comparisons; they take some seconds, so they are made once."""
    return list(calibrate(GIVEN, FOLDER / "curves"))


def test_all_recorded_curves_are_compared():
    """Best-of-k, dialogues with a verifier, trials without and with memory, and pruning."""
    assert {line.row for line in lines()} == set(ROWS)
    assert len(ROWS) == 11
    assert len(lines()) == 116


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_calibration_holds(row):
    assert [line for line in lines() if line.row == row and not line.holds] == []


def test_a_row_can_fail():
    """Equal odds for all problems, which the records refute, are outside the tolerances."""
    odds = GIVEN.best_of[0].odds.model_copy(update={"alpha": 73.0, "beta": 927.0})
    row = GIVEN.best_of[0].model_copy(update={"odds": odds})
    found = calibrate(GIVEN.model_copy(update={"best_of": (row,), "instances": 500}), FOLDER / "curves")
    missed = [line.what for line in found if line.row == row.name and not line.holds]
    assert {"best of 10, generated", "best of 100, generated"} <= set(missed)


def test_the_base_profile_has_the_odds_of_the_row_that_it_names():
    rows = {row.name: row for row in GIVEN.dialogues}
    base = load_profile("base", data_root())
    assert base.odds == rows["gpt4_blocksworld"].odds
    assert base.critic == GIVEN.pruning[0].critic
