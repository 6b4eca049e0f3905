"""Child runs: driving one, and ending those that were withdrawn."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import trio

from actors.run.kind import ChildRun
from replan.runs.loaded import AnyKind, Loaded, started
from replan.runs.options import DriveOptions
from runtime.core.errors import Held, JournalError, KindUnknown, RunExists, RunNotFound
from runtime.drive.options import Ending
from runtime.logs import log

if TYPE_CHECKING:
    from replan.runs.engine import Engine

HELD_SECONDS = 0.5
"""How long a run waits before it tries again to claim a child run that is held."""


async def drive_child(
    engine: "Engine", child: ChildRun, shared: tuple[str | None, Any], options: DriveOptions
) -> Any | None:
    """Drive a child run as `actors.run.kind.DriveChild` says.

    `shared` is the parent's model, by its name and opened: a child that names the same uses it.
    """
    kind = engine.kinds.named(child.kind)
    with suppress(RunExists):
        await engine.journal.create(child.run, child.title, kind.name, kind.format)
    loaded = await engine.read(child.run)
    if loaded.finished:
        return loaded.state
    first = None if loaded.started else child.first(engine.clock.now())
    state = loaded.state if first is None else started(kind, first)
    name = kind.model(state)
    if name == shared[0]:
        return await _drive(engine, child.run, loaded, state=state, options=options, model=shared[1], first=first)
    async with engine.model(name, loaded.replies) as model:
        return await _drive(engine, child.run, loaded, state=state, options=options, model=model, first=first)


async def _drive(
    engine: "Engine", run: str, loaded: Loaded, *, state: Any, options: DriveOptions, model: Any, first: Any
) -> Any | None:
    kind = loaded.kind
    async with engine.actors(kind, state, model, options) as actors:
        supervisor = engine.supervisor(run, kind, actors, options, loaded.snapshot)
        ending = None
        while ending is None:
            try:
                ending = await supervisor.drive(first)
            except Held:  # For a moment: by a `cancel`, or by a killed driver whose lease has not run out.
                await trio.sleep(HELD_SECONDS)
    await cancel_children(engine, kind, run, supervisor.state)
    return supervisor.state if ending is Ending.FINISHED else None


async def cancel_children(engine: "Engine", kind: AnyKind, run: str, state: Any) -> None:
    """End the children of a finished run that were withdrawn before they ended.

    If the journal fails for a while, the run has ended nevertheless, and its next `resume` ends the other children.
    """
    common = kind.run_state(state)
    if common is None or not common.over:
        return
    try:
        for child in kind.children(state):
            with suppress(RunNotFound, Held, KindUnknown):  # A driver that holds one finds its parent finished.
                await engine.end_cancelled(child)
    except JournalError as error:
        if not error.passing:
            raise
        log.get_logger("run").warning("children.kept", run_id=run, reason=str(error))
