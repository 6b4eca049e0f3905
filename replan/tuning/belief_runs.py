"""Reads the runs of a home for the estimate of a belief. A run that cannot be read harms no other: it is named."""

import sys
from dataclasses import dataclass, field

import trio

from actors.planning.kind import PLANNING
from actors.policy.table import Policy
from actors.run.ids import is_child
from replan.runs.reader import Reading
from replan.tuning.belief_cases import Recorded, recorded
from runtime.core.errors import JournalDamaged, RunUnreadable, UsageProblem
from runtime.journal.port import RunFilter


@dataclass
class Runs:
    """The planning runs of a home."""

    found: list[Recorded] = field(default_factory=list)
    """Those that a belief learns from, in the order of their ids."""
    unfit: dict[str, str] = field(default_factory=dict)
    """Why it has no use for a run, by the run's id."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Why a run cannot be read, by its id."""


async def runs_of(home: Reading, policy: Policy) -> Runs:
    """Return the planning runs of a home, as a belief policy reads them."""
    result = Runs()
    rows = await home.journal.runs(RunFilter(limit=sys.maxsize))
    for row in sorted(rows, key=lambda row: row.run):
        await trio.lowlevel.checkpoint()
        if is_child(row.run):
            continue
        try:
            loaded = await home.read(row.run)
        except (JournalDamaged, RunUnreadable, UsageProblem) as problem:
            result.unreadable[row.run] = str(problem)
            continue
        if loaded.kind.name != PLANNING.name:
            continue
        found = recorded(row.run, [record.event for record in loaded.records], policy)
        if isinstance(found, str):
            result.unfit[row.run] = found
        else:
            result.found.append(found)
    return result
