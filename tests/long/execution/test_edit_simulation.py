"""Prohibitions and achieved tokens survive edits in the middle of random executions.

`REPLAN_EDITS` sets the number of executions.
"""

import os

from tests.execution.test_edits import play_edited

SEEDS = int(os.environ.get("REPLAN_EDITS", "150"))


def test_prohibitions_and_achieved_tokens_survive_edits():
    assert sum(play_edited(seed) for seed in range(SEEDS)) > SEEDS / 10
