"""The settings of the cyclic garbage collector for a process that drives runs.

Reference counts free nearly all objects at once, since a step makes almost no cycles. A collection visits every new
object that is still in use, at about a microsecond each: a sixth of a step's processor time with the default threshold
of 700 or 10,000 objects. So collections are rare here; `benchmarks/bench_steps.py` measures with these settings.
"""

import gc

YOUNG = 200_000
"""New objects before a collection of the youngest generation: about 30 MB, the most that cycles can keep alive."""
MIDDLE = 10
"""Collections of the youngest generation before one of the middle generation."""


def start_quickly() -> None:
    """Make collections rare while modules are imported: most of what that makes stays. For a process of our own."""
    gc.set_threshold(YOUNG, MIDDLE, gc.get_threshold()[2])


def tune() -> None:
    """Exclude all objects so far from collections, and make collections rarer. Only the process owner may call it."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, gc.get_threshold()[2])
