"""Deletes runs with their child runs, and chooses old runs to move to another journal."""

import math
from collections.abc import Collection, Iterable, Sequence
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
from replan.runs.forks import clear_folders, made_folders
from replan.runs.reader import ALL, resolve_run
from replan.setup.home_folder import locate_home
from replan.setup.installation import program
from runtime.core.errors import RunMoved, UsageProblem
from runtime.journal.head import place_moved_to
from runtime.journal.port import Deleted, RunRow
from runtime.process.identity import is_dead

if TYPE_CHECKING:
    from replan.runs.engine import Engine
    from replan.runs.reader import RunReader


@dataclass(frozen=True, slots=True)
class DeletedRuns:
    """The result of a deletion."""

    runs: Deleted
    """How many runs, including child runs, and how many texts that no other run has were deleted."""
    folders: tuple[LeftFolder, ...] = ()
    """The folders that were made for deleted forks, each with the reason why it is kept if it was not removed."""


async def delete_run(engine: "Engine", run: str, *, force: bool = False, keep_workspace: bool = False) -> DeletedRuns:
    """Delete a run that has ended. With `force`, delete any run that nobody drives.

    The folder that was made for a fork is removed too, unless the folder has changed since or `keep_workspace` is set.
    Raises `RunNotFound`, `Held`, and `UsageProblem` for a run that has not ended or is a child run.
    """
    await check_own(engine, run, "delete RUN")
    row = await engine.journal.row(run)
    if row.status != "finished" and not force:
        hint = f"end it with `{program()} cancel {run}` first, or add --force"
        raise UsageProblem(f"run {run} has not ended", place="RUN", hint=hint)
    return await _delete(engine, [row], await engine.journal.runs(ALL), keep_workspace=keep_workspace)


async def prune(
    engine: "Engine", before: float, *, ended: bool = False, dry_run: bool = False, keep_workspace: bool = False
) -> tuple[tuple[str, ...], tuple[LeftFolder, ...]]:
    """Delete the runs that can never continue and have not changed since `before` (UTC seconds since 1970).

    Return the ids of the deleted runs, and the folders that were made for deleted forks. Folders are removed as in
    `delete_run`. With `ended`, runs that have ended and could be reopened are deleted too. With `dry_run`, nothing is
    deleted, and the ids are those of the runs to delete. If another process drives one of the runs, raises `Held` and
    deletes nothing.
    """
    rows = await engine.journal.runs(ALL)
    old = [row for row in rows if not is_child(row.run) and row.updated < before and is_over(row, ended=ended)]
    folders: tuple[LeftFolder, ...] = ()
    if old and not dry_run:
        folders = (await _delete(engine, old, rows, keep_workspace=keep_workspace)).folders
    return tuple(row.run for row in old), folders


def is_over(row: RunRow, *, ended: bool) -> bool:
    """Return whether a run has finished for good. With `ended`, finished runs count even if they could be reopened."""
    return row.status == "finished" and (ended or row.detail in FINAL)


async def _delete(
    engine: "Engine", rows: Collection[RunRow], all_rows: Iterable[RunRow], *, keep_workspace: bool
) -> DeletedRuns:
    last_seqs = {row.run: row.last_seq for row in all_rows}
    above, runs = runs_above(last_seqs), {row.run: row.last_seq for row in rows}
    for row in rows:
        runs |= {run: last_seqs[run] for run in await family_of(engine, row.run, last_seqs, above) if run not in runs}
    folders = [] if keep_workspace else await made_folders(engine, rows)
    deleted, home = await engine.journal.delete(runs, dead=is_dead), locate_home(engine.environment).folder
    await trio.to_thread.run_sync(_remove_worktrees, home, runs)
    return DeletedRuns(deleted, await clear_folders(engine, folders, home))


def _remove_worktrees(home: Path, runs: Iterable[str]) -> None:
    """Remove the git worktrees of coding agents that still exist because their driver was killed.

    A worktree that cannot be removed does no harm.
    """
    for run in runs:
        with suppress(OSError):
            remove_worktrees(home, run)


@dataclass(frozen=True, slots=True)
class RunChoice:
    """Says which ended runs are copied to another journal."""

    names: tuple[str, ...] = ()
    """Ids of runs, or unambiguous prefixes of ids; empty to choose by `before` and `ended`."""
    before: float | None = None
    """Only runs that have not changed since this time are chosen (UTC seconds since 1970); None for runs of any age."""
    ended: bool = False
    """Whether finished runs that could be reopened are chosen too."""


@dataclass
class Chosen:
    """The runs that were chosen for a copy."""

    families: list[Sequence[str]] = field(default_factory=list)
    """The chosen runs, each with its child runs, in the order in which they were started."""
    left: dict[str, str] = field(default_factory=dict)
    """The reasons why runs cannot be copied, by the runs' ids."""


async def choose(reader: "RunReader", choice: RunChoice, place: str) -> Chosen:
    """Choose runs, with their child runs, to copy to the journal at `place`. Nothing is changed.

    Runs that an earlier copy has marked as moved to this journal are chosen too. Raises `RunNotFound`, and
    `UsageProblem` for a prefix of several runs, and for a child run.
    """
    rows = {row.run: row for row in reversed(await reader.journal.runs(ALL))}
    above, chosen = runs_above(rows), Chosen()
    if choice.names:
        tops = [rows[await resolve_run(reader.journal, name)] for name in dict.fromkeys(choice.names)]
        for row in tops:
            await check_own(reader, row.run, "home copy SOURCE TARGET --run RUN")
    else:
        before = math.inf if choice.before is None else choice.before
        tops = [
            row
            for row in rows.values()
            if not is_child(row.run)
            and is_over(row, ended=choice.ended)
            and row.updated < before
            and place_moved_to(row.owner) in {None, place}
        ]
    for row in tops:
        family = await family_of(reader, row.run, rows, above)
        obstacle = next(filter(None, (_obstacle(rows[run], place) for run in family)), "")
        if obstacle:
            chosen.left[row.run] = obstacle
        else:
            chosen.families.append([*family])
    return chosen


def _obstacle(row: RunRow, place: str) -> str:
    moved = place_moved_to(row.owner)
    if moved not in {None, place}:
        return str(RunMoved(row.run, str(moved)))
    if row.owner is not None and moved is None and not is_dead(row.owner):
        return f"run {row.run} is driven by another process"
    return "" if row.status == "finished" else f"run {row.run} has not ended"
