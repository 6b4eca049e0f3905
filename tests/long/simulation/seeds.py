"""The seeds of simulated runs, in batches of one test each; a failure prints how to repeat it."""

import os
from contextlib import contextmanager


def seeds_of(batch, total, batches):
    """Return the seeds of a batch; with `REPLAN_SIM_SEED=N` the seed N alone, in the first batch."""
    if "REPLAN_SIM_SEED" in os.environ:
        return [int(os.environ["REPLAN_SIM_SEED"])] if batch == 0 else []
    return range(batch, total, batches)


@contextmanager
def repeatable(seed, file):
    """Say in a failure how the run of a seed is repeated."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"repeat with: REPLAN_SIM_SEED={seed} pytest {file}") from error
