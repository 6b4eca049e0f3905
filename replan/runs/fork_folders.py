"""Finding and removing the folders that were made for forks of executions, when the forks are deleted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from actors.execution.state import State
from actors.tools.fork_workspace import LeftFolder, clear_workspace
from replan.runs.workspaces import EXECUTION, unfinished
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.journal.head import place_moved_to
from runtime.journal.port import RunRow

if TYPE_CHECKING:
    from replan.runs.reader import RunReader


@dataclass(frozen=True, slots=True)
class MadeFolder:
    """A folder that was made for a fork."""

    run: str
    """The id of the fork."""
    folder: Path
    """Its absolute path."""
    snapshot: str
    """The id of the last snapshot in the fork's records."""


async def made_folders(reader: "RunReader", rows: Iterable[RunRow]) -> Sequence[MadeFolder]:
    """Return the folders that were made for the forks among some runs.

    The folder of a run that cannot be read, or that was moved to another journal, is left out.
    """
    found = []
    for row in rows:
        if row.kind != EXECUTION or place_moved_to(row.owner) is not None:
            continue
        try:
            loaded = await reader.read(row.run)
        except (JournalDamaged, KindUnknown, RunNotFound, UsageProblem):
            continue
        state = loaded.state
        fork = state.run.fork if isinstance(state, State) else None
        if fork is None or not fork.workspace:
            continue
        events = (record.event for record in loaded.records)
        workspace = loaded.kind.fork_workspace(zip(events, loaded.states, strict=True))
        snapshots = [] if workspace is None else [*filter(None, workspace.snapshots)]
        if snapshots:
            found.append(MadeFolder(row.run, Path(fork.workspace), snapshots[-1]))
    return found


async def clear_folders(reader: "RunReader", folders: Sequence[MadeFolder], home: Path) -> tuple[LeftFolder, ...]:
    """Remove the folders of deleted forks, and return for each whether it was removed or why it is kept.

    A folder is kept if it has changed since the fork's last snapshot, or if an unfinished run works in it.
    """
    busy = {used: run async for run, used in unfinished(reader)} if folders else {}
    results = []
    for each in folders:
        if run := busy.get(each.folder):
            results.append(LeftFolder(str(each.folder), f"run {run} works in it and has not finished"))
            continue
        done = await trio.to_thread.run_sync(clear_workspace, each.folder, each.snapshot, home, each.run)
        results += [] if done is None else [done]
    return tuple(results)
