"""Runs that were made from the result of another run, such as the executions of a planning run's plan."""

from typing import TYPE_CHECKING, NamedTuple

from replan.runs.run_ids import ALL
from replan.runs.status import status_of
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.journal.port import RunFilter

if TYPE_CHECKING:
    from replan.runs.reader import Reading

LINKED_MAX = 20
"""The most runs that are named."""


class LinkedRun(NamedTuple):
    """A run that was made from another one."""

    run: str
    """Its id."""
    kind: str
    """The name of its kind."""
    status: str
    """Its status for people."""
    outcome: str
    """How it ended; empty until it has finished."""


async def made_from(reader: "Reading", run: str) -> list[LinkedRun]:
    """Return the runs that were made from a run, the newest first, `LINKED_MAX` at most.

    Only rows whose title names the run are read; a run that cannot be read is left out.
    """
    linked: list[LinkedRun] = []
    for row in await reader.journal.runs(RunFilter(title_start=f"plan {run}: ", limit=ALL.limit)):
        if len(linked) >= LINKED_MAX:
            break
        try:
            loaded = await reader.read(row.run)
        except (JournalDamaged, RunNotFound, KindUnknown, UsageProblem):
            continue
        if loaded.kind.made_from(loaded.state) == run:
            status = status_of(row, hosted=await reader.hosted(row.kind, row.format))
            outcome = row.detail if status == "finished" else ""
            linked.append(LinkedRun(row.run, row.kind, status, outcome))
    return linked
