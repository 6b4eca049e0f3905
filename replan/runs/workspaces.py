"""One execution for each workspace at a time, also while a run waits for a person and no process holds the lock."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from actors.execution.state import State
from actors.tools.workspace import ensure_free
from replan.runs.run_ids import ALL
from replan.setup.installation import program
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem

if TYPE_CHECKING:
    from actors.execution.prepare import PreparedExecution
    from replan.runs.engine import Engine
    from replan.runs.reader import RunReader

EXECUTION = "execution"
"""The name of the kind of executions."""


async def ensure_unused(reader: "RunReader", folder: Path, home: Path, *, besides: str = "") -> None:
    """Raise `UsageProblem` where another execution of the home works in a folder and has not finished.

    It may be driven, wait for a person, or be parked: it goes on with the files as it has left them.
    """
    ensure_free(folder, home)
    async for run, used in unfinished_executions(reader):
        if used == folder and run != besides:
            cause = f"run {run!r} works in this workspace and has not finished"
            hint = f"go on with `{program()} resume {run}`, or end it with `{program()} cancel {run}`"
            raise UsageProblem(cause, place=str(folder), hint=hint)


async def unfinished_executions(reader: "RunReader") -> AsyncIterator[tuple[str, Path]]:
    """Yield the executions of the home that have not finished, each with its workspace."""
    for row in await reader.journal.runs(ALL):
        if row.kind != EXECUTION or row.status == "finished":
            continue
        try:
            state = (await reader.read(row.run)).state
        except (JournalDamaged, RunNotFound, KindUnknown, UsageProblem):
            continue  # `doctor` reports it; nobody can drive it.
        if isinstance(state, State):
            yield row.run, Path(state.config.workspace)


async def admit_alone(engine: "Engine", request: "PreparedExecution", run: str, home: Path) -> None:
    """Record the start of an execution for a host, unless another one works in its workspace.

    Where two are admitted at once, each finds the other, and both are cancelled: neither has done anything yet. Raises
    `UsageProblem` then, and the errors of `ensure_unused`.
    """
    folder = Path(request.config.workspace)
    await ensure_unused(engine, folder, home)
    await engine.admit(request, run=run)
    try:
        await ensure_unused(engine, folder, home, besides=run)
    except UsageProblem:
        await engine.cancel(run)
        raise
