"""The settings of the cyclic garbage collector for a process that drives runs.

A step makes some thousands of small objects and hardly any cycles, so the default (a pass every 700 new objects) spends
a quarter of a step's processor time on looking at what is still in use. Reference counts free nearly everything at once
either way; `benchmarks/bench_steps.py` measures with these settings.
"""

import gc

YOUNG = 10_000
"""New objects before a pass over them."""
MIDDLE = 20
"""Such passes before one over their survivors."""


def tune() -> None:
    """Take what is loaded so far out of all passes, and make passes rarer. Only the process owner may call it."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, gc.get_threshold()[2])
