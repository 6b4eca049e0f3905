"""Child runs: driving one, ending those that were withdrawn, and finding the run on top."""

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.run.ids import is_child
from actors.run.kind import ChildRun
from replan.runs.loaded import AnyKind, Loaded, started
from replan.runs.options import DriveOptions
from replan.setup.command_name import program
from runtime.core.errors import Held, JournalError, KindUnknown, RunExists, RunNotFound, UsageProblem
from runtime.drive.options import Admission, Ending
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
    while True:
        try:
            return await _drive_as_read(engine, child, shared, options)
        except RunExists:
            continue  # An earlier driver of the parent, which has lost it, has begun the child meanwhile.


async def _drive_as_read(
    engine: "Engine", child: ChildRun, shared: tuple[str | None, Any], options: DriveOptions
) -> Any | None:
    """Read the child run and go on with it, or begin it where there is none. Raises `RunExists` for that."""
    admission = None
    try:
        loaded = await engine.read(child.run)
    except RunNotFound:
        kind = engine.kinds.named(child.kind)
        admission = Admission(child.title, kind.name, kind.format)
        loaded = Loaded(kind, kind.machine.initial(), [])
    if loaded.finished:
        return loaded.state
    first = None if loaded.started else child.first(engine.clock.now())
    state = loaded.state if first is None else started(loaded.kind, first)
    drive = partial(_drive, engine, child.run, loaded, state=state, options=options, first=first, admission=admission)
    name = loaded.kind.model(state)
    if name == shared[0]:
        return await drive(model=shared[1])
    async with engine.model(name, loaded.replies) as model:
        return await drive(model=model)


async def _drive(
    engine: "Engine",
    run: str,
    loaded: Loaded,
    *,
    state: Any,
    options: DriveOptions,
    model: Any,
    first: Any,
    admission: Admission | None,
) -> Any | None:
    kind = loaded.kind
    async with engine.actors(kind, state, model, options) as actors:
        supervisor = engine.supervisor(run, kind, actors, options, snapshot=loaded.snapshot, admission=admission)
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


async def top_of(engine: "Engine", run: str) -> str:
    """Return the run that a run is a step of, however far up, or the run itself where a person has started it.

    The records of the runs above decide, and not the id, which a program may choose freely. Raises `JournalDamaged` for
    them.
    """
    top = run
    while is_child(top):
        above = top.rpartition(".")[0]
        with suppress(RunNotFound):
            loaded = await engine.read(above)
            if loaded.started and top in loaded.kind.children(loaded.state):
                top = above
                continue
        break
    return top


async def check_own(engine: "Engine", run: str, way: str) -> None:
    """Check that a run is no step of another, which alone goes on with it.

    `way` is the command to use instead, with `RUN` in the place of the top run's id. Raises `UsageProblem`, and as
    `top_of` does.
    """
    top = await top_of(engine, run)
    if top != run:
        hint = f"`{program()} {way.replace('RUN', top)}`"
        raise UsageProblem(f"the run is a step of run {top}, which alone goes on with it", place=run, hint=hint)
