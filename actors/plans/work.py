"""The work of an exploration: counted in units, with a limit, so that the result is the same on every machine. Pure."""

WORK_PER_CONFIGURATION = 80
"""Units of work for each configuration that may be visited; a unit takes about a quarter of a microsecond."""
WORK_CONFIGURATIONS_MIN = 100_000
"""The number of configurations whose work is allowed at least: about two seconds of processor."""
PROGRAM_BITS_MAX = 500_000_000
"""Bits of the largest program that is compiled: about 60 MB."""


class OutOfWork(Exception):
    """Ends an exploration whose work has reached its limit; `actors.plans.nominal` raises it too."""


class WorkLeft:
    """The work that is left to one exploration."""

    edge: int
    """Units for one outcome of one step: the operations on bit sets that do not depend on what has changed."""
    item: int
    """Units for one item of a bit set that a loop visits. Operations on long bit sets take longer."""
    stored: int
    """Units for one bit set that is kept, so that the limit holds for the memory too."""
    spent: int
    """The units that were counted so far; compiling a plan is work too."""

    def __init__(self, steps: int, tokens: int, invariants: int) -> None:
        size = steps + tokens
        self.edge = 24 + size // 1_000 + invariants * (1 + tokens // 4_000)
        self.item = 2 + size // 700
        self.stored = 10 + size // 32
        self.spent = 100 * steps
        self._most = 0

    def limit(self, configurations: int) -> None:
        """Allow the work of this many configurations, or of `WORK_CONFIGURATIONS_MIN` if these are more."""
        self._most = max(configurations, WORK_CONFIGURATIONS_MIN) * WORK_PER_CONFIGURATION

    def spend(self, units: int) -> None:
        """Count units. Raises `OutOfWork` when the limit is passed."""
        self.spent += units
        if self.spent > self._most:
            raise OutOfWork
