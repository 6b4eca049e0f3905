"""Child runs: driving one, ending those that were withdrawn, and finding the run on top."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import trio

from actors.run.ids import is_child
from actors.run.kind import ChildRun
from replan.runs.loaded import AnyKind, Loaded, started
from replan.runs.options import DriveOptions
from replan.setup.command_name import program
from runtime.core.errors import Halted, Held, JournalError, KindUnknown, RunExists, RunNotFound, UsageProblem
from runtime.core.events import text_hash
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
    common = kind.run_state(loaded.state)
    if common is not None and common.finished is not None:
        failed = common.finished.reopened_by == "resume" and common.finished.cause != "home_budget"
        if not (failed and options.at_once):
            return loaded.state
    if child.change and loaded.started:
        body = json.dumps(dict(child.change))
        await engine.journal.post(child.run, f"change:{text_hash(body)[:16]}", body)
        loaded = replace(loaded, state=await engine.with_inbox(child.run, loaded))
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
    common = kind.run_state(supervisor.state)
    if common is not None and common.parked_cause:
        raise Halted(common.parked_cause, f"run {run}: {common.parked_reason}")
    waits = common is not None and common.outage is not None and not common.parked
    return supervisor.state if ending is Ending.FINISHED or waits else None


async def cancel_children(engine: "Engine", kind: AnyKind, run: str, state: Any) -> None:
    """End the children of a run whose end is final that were withdrawn before they ended.

    If the journal fails for a while, the run has ended nevertheless, and its next `resume` ends the other children.
    """
    common = kind.run_state(state)
    if common is None or common.finished is None or not (common.over and common.finished.final):
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
