"""Deleting runs for good, with the runs of their steps: the ones that a person names, and those that have aged."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from actors.run.ending import FINAL
from actors.run.ids import is_child
from replan.runs.families import check_own, family_of, runs_above
from replan.runs.run_ids import ALL
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem
from runtime.journal.port import Deleted, RunRow
from runtime.process.identity import is_dead

if TYPE_CHECKING:
    from replan.runs.engine import Engine


async def delete_run(engine: "Engine", run: str, *, force: bool = False) -> Deleted:
    """Delete a run that has ended; with `force`, any that nobody drives.

    Raises `RunNotFound`, `Held`, and `UsageProblem` for a run that has not ended or is a step of another.
    """
    await check_own(engine, run, "delete RUN")
    row = await engine.journal.row(run)
    if row.status != "finished" and not force:
        hint = f"end it with `{program()} cancel {run}` first, or give --force"
        raise UsageProblem(f"run {run} has not ended", place="RUN", hint=hint)
    return await _delete(engine, [row], await engine.journal.runs(ALL))


async def prune(engine: "Engine", before: float, *, ended: bool = False, dry_run: bool = False) -> tuple[str, ...]:
    """Delete the runs that never go on and have not changed since a time (UTC seconds since 1970); return their ids.

    With `ended`, also those that have ended and could be reopened. Runs of a newer release are kept. With `dry_run`,
    nothing is deleted. A run that another process has taken up in the meantime raises `Held`, and nothing is deleted.
    """
    rows = await engine.journal.runs(ALL)
    old = [row for row in rows if not is_child(row.run) and row.updated < before and is_over(row, ended=ended)]
    if old and not dry_run:
        await _delete(engine, old, rows)
    return tuple(row.run for row in old)


def is_over(row: RunRow, *, ended: bool) -> bool:
    """Tell whether a run never goes on; with `ended`, whether it has ended, though it could be reopened."""
    return row.status == "finished" and (ended or row.detail in FINAL)


async def _delete(engine: "Engine", rows: Collection[RunRow], all_rows: Iterable[RunRow]) -> Deleted:
    """Delete runs, and the runs of their steps."""
    known = {row.run: row.last_seq for row in all_rows}
    above, runs = runs_above(known), {row.run: row.last_seq for row in rows}
    for row in rows:
        runs |= {run: known[run] for run in await family_of(engine, row.run, known, above) if run not in runs}
    return await engine.journal.delete(runs, dead=is_dead)
