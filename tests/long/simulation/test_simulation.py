"""A hundred simulated runs of the planning machine, each from one number. A failure prints how to repeat it.

`REPLAN_SIM_SEEDS=100000` plays more; `REPLAN_SIM_SEED=N` plays run N alone.
"""

import os

import pytest

from actors.run.near_limit import WARN_AT
from tests.long.simulation.driver import Run
from tests.long.simulation.seeds import repeatable, seeds_of

SEEDS = int(os.environ.get("REPLAN_SIM_SEEDS", "100"))
BATCHES = 4


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_simulated_run_keeps_every_promise(batch):
    """S6, S8, S22, S23, S24, S25, S27, S28, S39, S93, S94, S95, S105: `tests.long.simulation.invariants`."""
    for seed in seeds_of(batch, SEEDS, BATCHES):
        with repeatable(seed, __file__):
            Run(seed, warn_at=WARN_AT).simulate()
