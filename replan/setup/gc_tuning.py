"""The settings of the cyclic garbage collector for a process that drives runs.

Reference counts free nearly everything at once; cycles are as good as none in a step. But a pass looks at every object
that is new and still in use, which takes about a microsecond for each, a sixth of a step's processor time with the
default of a pass every 700 objects or every 10,000. So passes are rare; `benchmarks/bench_steps.py` measures with these
settings.
"""

import gc

YOUNG = 200_000
"""New objects before a pass over them: about 30 MB, the most that cycles can hold back."""
MIDDLE = 10
"""Such passes before one over their survivors."""


def tune() -> None:
    """Take what is loaded so far out of all passes, and make passes rarer. Only the process owner may call it."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, gc.get_threshold()[2])
