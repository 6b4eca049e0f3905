"""Child runs: driving one as a part of its parent, and ending those that a finished parent has left."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.run.ids import parent_of
from actors.run.kind import ChildRun
from actors.run.state import RunState
from replan.runs.loaded import AnyKind, Loaded, started
from replan.runs.options import DriveOptions
from runtime.core.errors import Halted, Held, JournalError, KindUnknown, RunExists, RunNotFound
from runtime.core.events import text_hash
from runtime.drive.options import Admission, Ending
from runtime.logs import log

if TYPE_CHECKING:
    from replan.runs.engine import Engine

HELD_SECONDS = 0.5
"""How long a run waits before it tries again to claim a child run that is held."""


async def drive_child(
    engine: "Engine", child: ChildRun, parent_model: tuple[Sequence[str], Any], options: DriveOptions
) -> Any | None:
    """Drive a child run as `actors.run.kind.DriveChild` says.

    `parent_model` is the names of the parent's models and the open model; a child with models of these names uses it.
    """
    while True:
        try:
            return await _drive_child_once(engine, child, parent_model, options)
        except RunExists:
            continue  # An earlier driver of the parent, which has lost it, has begun the child meanwhile.


async def _drive_child_once(
    engine: "Engine", child: ChildRun, parent_model: tuple[Sequence[str], Any], options: DriveOptions
) -> Any | None:
    """Read the child run and go on with it, or begin it where there is none. Raises `RunExists` for that."""
    admission = None
    try:
        loaded = await engine.read(child.run)
    except RunNotFound:
        kind = engine.kinds.named(child.kind)
        placement = (await engine.journal.row(parent_of(child.run))).placement
        admission = Admission(child.title, kind.name, kind.format, placement)
        loaded = Loaded(kind, kind.machine.initial(), [])
    common = loaded.kind.run_state(loaded.state)
    if common is not None and common.finished is not None and not _goes_on(common, child, at_once=options.at_once):
        return loaded.state
    if child.change and loaded.started:
        body = json.dumps(dict(child.change))
        await engine.journal.post(child.run, f"change:{text_hash(body)[:16]}", body)
        loaded = replace(loaded, state=await engine.with_inbox(child.run, loaded))
    first = None if loaded.started else child.first(engine.clock.now())
    state = loaded.state if first is None else started(loaded.kind, first)
    drive = partial(
        _drive_opened_child, engine, child.run, loaded, state=state, options=options, first=first, admission=admission
    )
    parent_names, opened = parent_model
    name, others = loaded.kind.model(state), loaded.kind.step_models(state)
    if [name] == [*parent_names[:1]] and {*others.values()} <= {*parent_names[1:]}:
        return await drive(model=opened)
    async with engine.models_of(loaded.kind, state, loaded.replies) as model:
        return await drive(model=model)


def _goes_on(common: RunState[Any], child: ChildRun, *, at_once: bool) -> bool:
    """Tell whether a finished child run is driven again: it has failed, or its deadline is set anew.

    Child and parent end by the same deadline, in either order.
    """
    end, deadline = common.finished, common.ledger.limits.deadline
    if end is None or end.reopened_by == "resume":
        return at_once and end is not None and end.cause != "home_budget"
    is_past = deadline is not None and common.now >= deadline
    return end.reopened_by == "limits" and is_past and child.change.get("deadline", deadline) != deadline


async def _drive_opened_child(
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
    async with engine.actors(kind, state, engine.watched(model), options) as actors:
        supervisor = engine.supervisor(run, kind, actors, options, snapshot=loaded.snapshot, admission=admission)
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
