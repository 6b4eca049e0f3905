"""Snapshots of the workspace: when the first one is taken, and what each says about forbidden paths. Pure."""

from dataclasses import replace

from pydantic import ValidationError

from actors.execution.attempts import failed, passed
from actors.execution.forbidden import changed_by_check, changed_paths, files_limit, outside_scope, too_many_files
from actors.execution.ids import WORKSPACE_START
from actors.execution.state import Attempt, Phase, State
from actors.run.tools import ToolFinished, ToolOutcome, ToolRequested
from actors.tools.snapshot_texts import Snapshot, snapshot_taken, snapshot_use
from runtime.core.copies import changed


def first_snapshot(state: State) -> ToolRequested | None:
    """Record the workspace before the first step."""
    run = state.run
    if not state.config.snapshots or state.snapshot is not None or run.tools or run.parked or run.renewing:
        return None
    use = snapshot_use("start")
    return ToolRequested(
        node=WORKSPACE_START,
        tool=use.tool,
        arguments=use.arguments,
        repeatable=use.repeatable,
        timeout_seconds=use.timeout_seconds,
    )


def after_first(state: State, event: ToolFinished) -> State:
    """Return the state after the workspace was recorded before the first step."""
    if event.outcome is ToolOutcome.UNKNOWN:  # The run ended before; it is taken once the run goes on.
        return state
    taken = _taken(event)
    return changed(state, snapshot=taken.id, first_snapshot=taken.id, not_compared=0 if taken.id else 1)


def after_step(state: State, attempt: Attempt, event: ToolFinished) -> tuple[State, Attempt]:
    """Return the state and the attempt after the workspace was recorded behind its work.

    Where the snapshot fails, or does not know what has changed, the attempt goes on: what a step may not touch is then
    not checked, and the result says so.
    """
    if event.outcome is ToolOutcome.UNKNOWN:
        return state, replace(attempt, open=False)
    taken = _taken(event)
    if taken.changed is None:
        state = changed(state, not_compared=state.not_compared + 1)
    state = changed(state, snapshot=taken.id or state.snapshot)
    kept, paths = state.constraints.requirements, taken.changed or ()
    if any(files_limit(item) is not None for item in kept):
        state = changed(state, touched=state.touched.union(paths))
    found = (
        *changed_paths(kept, paths, attempt.step),
        *outside_scope(kept, paths, attempt.step),
        *too_many_files(kept, state.touched, paths, attempt.step),
    )
    if attempt.phase is Phase.COMPARE and paths and len(state.active) == 1:  # Else another step may have changed them.
        check = state.plan.by_id[attempt.step].guard
        by_check = changed_by_check(check, paths, attempt.step)
        if not found:
            return changed(state, violations=(*state.violations, by_check)), passed(attempt)
        found = (*found, by_check)
    if not found:
        return state, passed(attempt)
    return changed(state, violations=(*state.violations, *found)), replace(failed(attempt, *found), skipped=True)


def _taken(event: ToolFinished) -> Snapshot:
    if event.outcome is ToolOutcome.SUCCEEDED:
        try:
            return snapshot_taken(event.output)
        except ValidationError:
            pass
    return Snapshot(id="", notice=event.reason)
