"""Reads the runs of a home for the estimate of a belief, one after the other. A run that cannot be read harms no other.

No run is kept: what is, is what a belief learns from it, once for all runs that went alike.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import trio

from actors.planning.kind import PLANNING
from actors.policy.history import Past
from actors.policy.table import Policy
from actors.run.ids import is_child
from replan.runs.reader import Reading
from replan.runs.run_ids import ALL
from replan.tuning.belief_cases import FirstMoves, Recorded, recorded
from replan.tuning.belief_estimate import Accepted, Case
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem

Tick = Callable[[int, int], None]
"""Takes how many runs have been read, and how many there are."""


@dataclass
class Runs:
    """What the planning runs of a home say about a belief."""

    cases: dict[Case, Counter[str]] = field(default_factory=dict)
    """What a belief learns from, with the number of runs of each problem that went so."""
    unfit: dict[str, str] = field(default_factory=dict)
    """Why it has no use for a run, by the run's id."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Why a run cannot be read, by its id."""
    _pasts: dict[Past | Accepted, Past | Accepted] = field(default_factory=dict)

    @property
    def fit(self) -> int:
        """The number of runs that a belief learns from."""
        return sum(runs.total() for runs in self.cases.values())

    def add(self, run: Recorded) -> None:
        """Count a run; of equal rejections one is kept."""
        case = run.case
        if case not in self.cases:
            kept = tuple(self._pasts.setdefault(item, item) for item in case.items)
            self.cases[Case(case.shape, case.graph, case.roles, kept)] = Counter()
        self.cases[case][run.problem] += 1


async def runs_of(home: Reading, policy: Policy, tick: Tick) -> Runs:
    """Return what the planning runs of a home say, as a belief policy reads them."""
    result = Runs()
    async for run, found in _each(home, policy, tick):
        match found:
            case Recorded():
                result.add(found)
            case str():
                result.unfit[run] = found
            case Exception():
                result.unreadable[run] = str(found)
    return result


async def count_moves(home: Reading, policy: Policy, moves: FirstMoves, tick: Tick) -> None:
    """Count the rejections in the planning runs of a home."""
    async for _, found in _each(home, policy, tick):
        if isinstance(found, Recorded):
            moves.add(found)


_Found = Recorded | str | Exception
"""What a run says, why it is of no use, or why it cannot be read."""


async def _each(home: Reading, policy: Policy, tick: Tick) -> AsyncIterator[tuple[str, _Found]]:
    """Yield each planning run, in the order of the ids."""
    rows = await home.journal.runs(ALL)
    runs = sorted(row.run for row in rows if not is_child(row.run))
    for number, run in enumerate(runs, 1):
        await trio.lowlevel.checkpoint()
        found = await _read(home, run, policy)
        tick(number, len(runs))
        if found is not None:
            yield run, found


async def _read(home: Reading, run: str, policy: Policy) -> _Found | None:
    """Return what a run says; None for a run of another kind, and for one that was deleted meanwhile."""
    try:
        kind = await home.kind_of(run)
        if kind.name != PLANNING.name:
            return None
        records = await home.journal.read(run)
    except RunNotFound:
        return None
    except (JournalDamaged, KindUnknown, UsageProblem) as problem:
        return problem
    return recorded([record.event for record in records], policy)
