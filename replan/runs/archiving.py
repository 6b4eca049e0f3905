"""Choosing the runs to archive or to delete, with the runs of their steps: by name, by age, by count or by size."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from actors.run.ending import FINAL
from actors.run.ids import is_child
from actors.tools.fork_workspace import LeftFolder
from actors.tools.worktrees import remove_worktrees
from replan.runs.families import check_own, family_of, runs_above
from replan.runs.fork_folders import clear_folders, made_folders
from replan.runs.run_ids import ALL
from replan.setup.command_name import program
from replan.setup.home_folder import locate_home
from runtime.core.errors import UsageProblem
from runtime.journal.archive.steps import Family
from runtime.journal.head import place_moved_to
from runtime.journal.port import Deleted, RunRow
from runtime.process.identity import is_dead

if TYPE_CHECKING:
    from replan.runs.engine import Engine
    from replan.runs.reader import RunReader


@dataclass(frozen=True, slots=True)
class DeletedRuns:
    """What was deleted."""

    runs: Deleted
    """The runs, those of their steps included, and the texts that no other run has."""
    folders: tuple[LeftFolder, ...] = ()
    """The folders that were made for forks: removed or kept."""


async def delete_run(engine: "Engine", run: str, *, force: bool = False, keep_workspace: bool = False) -> DeletedRuns:
    """Delete a run that has ended; with `force`, any that nobody drives.

    The folder that was made for a fork is removed too, unless it has changed since or `keep_workspace` is set. Raises
    `RunNotFound`, `Held`, and `UsageProblem` for a run that has not ended or is a step of another.
    """
    await check_own(engine, run, "delete RUN")
    row = await engine.journal.row(run)
    if row.status != "finished" and not force:
        hint = f"end it with `{program()} cancel {run}` first, or give --force"
        raise UsageProblem(f"run {run} has not ended", place="RUN", hint=hint)
    return await _delete(engine, [row], await engine.journal.runs(ALL), keep_workspace=keep_workspace)


async def prune(
    engine: "Engine", before: float, *, ended: bool = False, dry_run: bool = False, keep_workspace: bool = False
) -> tuple[tuple[str, ...], tuple[LeftFolder, ...]]:
    """Delete the runs that never go on and have not changed since a time (UTC seconds since 1970).

    Returns their ids, and the folders of forks, which are treated as in `delete_run`. With `ended`, runs that have
    ended and could be reopened are deleted too. Runs of a newer release are kept. With `dry_run`, nothing is deleted.
    Raises `Held`, and deletes nothing, where another process has taken up one of the runs in the meantime.
    """
    rows = await engine.journal.runs(ALL)
    old = [row for row in rows if not is_child(row.run) and row.updated < before and is_over(row, ended=ended)]
    folders: tuple[LeftFolder, ...] = ()
    if old and not dry_run:
        folders = (await _delete(engine, old, rows, keep_workspace=keep_workspace)).folders
    return tuple(row.run for row in old), folders


def is_over(row: RunRow, *, ended: bool) -> bool:
    """Tell whether a run never goes on; with `ended`, one that has ended and could be reopened counts too."""
    return row.status == "finished" and (ended or row.detail in FINAL)


async def _delete(
    engine: "Engine", rows: Collection[RunRow], all_rows: Iterable[RunRow], *, keep_workspace: bool
) -> DeletedRuns:
    """Delete runs, the runs of their steps, and then the folders that were made for those that are forks."""
    last_seqs = {row.run: row.last_seq for row in all_rows}
    above, runs = runs_above(last_seqs), {row.run: row.last_seq for row in rows}
    for row in rows:
        runs |= {run: last_seqs[run] for run in await family_of(engine, row.run, last_seqs, above) if run not in runs}
    folders = [] if keep_workspace else await made_folders(engine, rows)
    deleted, home = await engine.journal.delete(runs, dead=is_dead), locate_home(engine.environment).folder
    await trio.to_thread.run_sync(_remove_worktrees, home, runs)
    return DeletedRuns(deleted, await clear_folders(engine, folders, home))


def _remove_worktrees(home: Path, runs: Iterable[str]) -> None:
    """Remove what killed drivers have left of coding agents' work; what cannot be removed stays, and does no harm."""
    for run in runs:
        with suppress(OSError):
            remove_worktrees(home, run)


@dataclass(frozen=True, slots=True)
class Retention:
    """What stays in the journal; what any of the limits excludes is archived. At least one of them is set."""

    before: float | None = None
    """Runs that have not changed since this time (UTC seconds since 1970) are archived."""
    runs_max: int | None = None
    """As many runs stay, those of steps not counted: the oldest are archived until then."""
    bytes_max: int | None = None
    """So many bytes of records, messages and texts stay: the oldest runs are archived until then."""
    ended: bool = False
    """Whether runs are archived too that have ended and could be reopened."""


@dataclass
class Chosen:
    """What is to be archived."""

    families: list[Family] = field(default_factory=list)
    """Runs with the runs of their steps; the run that changed least recently is first."""
    left: dict[str, str] = field(default_factory=dict)
    """Runs that would be archived, but for a reason."""


async def choose(reader: "RunReader", wish: Retention, size_of: Callable[[str], int]) -> Chosen:
    """Choose the runs to archive; `size_of` returns a run's bytes. Nothing is changed.

    Only runs that nobody drives are chosen, and only if they and the runs of their steps have finished.
    """
    rows = {row.run: row for row in await reader.journal.runs(ALL)}
    above, chosen = runs_above(rows), Chosen()
    over = [row for row in rows.values() if not is_child(row.run) and is_over(row, ended=wish.ended)]
    over.sort(key=lambda row: row.updated)
    too_many = _count(rows, wish)
    too_large = sum(map(size_of, rows)) - wish.bytes_max if wish.bytes_max is not None else 0
    for row in over:
        old = wish.before is not None and row.updated < wish.before
        if not (old or too_many > 0 or too_large > 0):
            continue
        if place_moved_to(row.owner) is not None:
            continue  # It is in another journal, and stays listed here.
        family = await family_of(reader, row.run, rows, above)
        obstacle = _obstacle(family, rows)
        if obstacle:
            chosen.left[row.run] = obstacle
            continue
        chosen.families.append(family)
        too_many -= 1
        too_large -= sum(map(size_of, family)) if wish.bytes_max is not None else 0
    return chosen


def _count(rows: Mapping[str, RunRow], wish: Retention) -> int:
    """Return by how many runs there are too many."""
    return 0 if wish.runs_max is None else sum(not is_child(run) for run in rows) - wish.runs_max


def _obstacle(family: Family, rows: Mapping[str, RunRow]) -> str:
    """Return why a family is not archived; empty where it is."""
    members: Sequence[RunRow] = [rows[run] for run in family]
    for row in members:
        if row.owner is not None and not is_dead(row.owner):
            return f"run {row.run} is driven by another process"
        if row.status != "finished":
            return f"run {row.run}, a step of it, has not ended"
    return ""
