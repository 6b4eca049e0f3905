"""The folders that were made for forks of executions: they go with the fork, while they are as it has left them."""

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

    A run that cannot be read, or was moved to another journal, leaves its folder alone.
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
    """Remove the folders of forks that have been deleted, and return what has become of each.

    One that has changed since the fork has left it is kept, and one in which a run works that has not finished.
    """
    busy = {used: run async for run, used in unfinished(reader)} if folders else {}
    left = []
    for each in folders:
        if run := busy.get(each.folder):
            left.append(LeftFolder(str(each.folder), f"run {run} works in it and has not finished"))
            continue
        done = await trio.to_thread.run_sync(clear_workspace, each.folder, each.snapshot, home, each.run)
        left += [] if done is None else [done]
    return tuple(left)
