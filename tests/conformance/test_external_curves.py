"""The simulated author against success curves that others have recorded: every row within its tolerance."""

import pytest

from replan.data import data_root
from replan.experiments.calibration import calibrate, load_calibration
from tests.support.external import FOLDER

LINES = list(calibrate(load_calibration(data_root()), FOLDER / "curves"))
ROWS = sorted({line.row for line in LINES})


def test_all_recorded_curves_are_compared():
    """Best-of-k, dialogues with a verifier, trials without and with memory, and pruning."""
    assert {"game24_io", "game24_cot", "gpt4_blocksworld", "gpt4_logistics", "gpt4_mystery"} <= set(ROWS)
    assert {"o1_preview_hard", "o1_mini_hard", "o1_preview_mystery"} <= set(ROWS)
    assert {"alfworld_plain", "alfworld_memory", "crosswords"} <= set(ROWS)
    assert len(LINES) > 100


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_calibration_holds(row):
    assert [line for line in LINES if line.row == row and not line.holds] == []


def test_the_base_profile_has_the_odds_of_the_row_that_it_names():
    from actors.simulated.model import load_profile

    rows = {row.name: row for row in load_calibration(data_root()).dialogues}
    assert load_profile("base", data_root()).odds == rows["gpt4_blocksworld"].odds
    assert load_profile("base", data_root()).critic == load_calibration(data_root()).pruning[0].critic
