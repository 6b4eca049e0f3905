"""Snapshots of the workspace: when the first one is taken, and what each says about forbidden paths. Pure."""

from dataclasses import replace

from pydantic import ValidationError

from actors.execution.attempts import fail_phase, pass_phase
from actors.execution.forbidden import (
    changed_paths,
    check_change_finding,
    files_limit,
    outside_scope,
    protected_paths,
    too_many_files,
)
from actors.execution.ids import WORKSPACE_END, WORKSPACE_START
from actors.execution.state import Attempt, AttemptPhase, State
from actors.run.tools import ToolFinished, ToolOutcome, ToolRequested
from actors.tools.snapshot_texts import WorkspaceSnapshot, read_snapshot, snapshot_use, touched_paths
from actors.tools.uses import ToolUse
from runtime.core.copies import changed


def first_snapshot(state: State) -> ToolRequested | None:
    """Record the workspace before the first step."""
    run = state.run
    if not state.config.snapshots or state.snapshot is not None or run.tools or run.parked or run.renewing:
        return None
    return _request_workspace_tool(WORKSPACE_START, snapshot_use("start"))


def last_snapshot(state: State) -> ToolRequested | None:
    """Compare the workspace with the first snapshot, where requirements protect paths.

    The snapshots of steps do not see what a failed tool, a person or another program has changed since the last one.
    """
    if not state.first_snapshot or state.damaged is not None or not protected_paths(state.constraints.requirements):
        return None
    return _request_workspace_tool(WORKSPACE_END, snapshot_use("end", state.first_snapshot))


def _request_workspace_tool(node: str, use: ToolUse) -> ToolRequested:
    return ToolRequested(
        node=node,
        tool=use.tool,
        arguments=use.arguments,
        repeatable=use.repeatable,
        timeout_seconds=use.timeout_seconds,
    )


def after_first(state: State, event: ToolFinished) -> State:
    """Return the state after the workspace was recorded before the first step."""
    if event.outcome is ToolOutcome.UNKNOWN:  # The run ended before; it is taken once the run goes on.
        return state
    taken = _read_snapshot(event)
    return changed(state, snapshot=taken.id, first_snapshot=taken.id, not_compared=0 if taken.id else 1)


def after_last(state: State, event: ToolFinished) -> State:
    """Return the state after the workspace was compared with the first snapshot.

    Where that cannot tell what has changed, the result says that it was not compared.
    """
    if event.outcome is ToolOutcome.UNKNOWN:
        return state
    taken, protected = _read_snapshot(event), protected_paths(state.constraints.requirements)
    if taken.changed is None or taken.more:
        state = changed(state, not_compared=state.not_compared + 1)
    return changed(state, damaged=touched_paths(taken.changed or (), protected))


def after_step(state: State, attempt: Attempt, event: ToolFinished) -> tuple[State, Attempt]:
    """Return the state and the attempt after the workspace was recorded, and compared with the snapshot before.

    Where the snapshot fails, or does not know what has changed, the attempt goes on: what a step may not touch is then
    not checked, and the result says so.
    """
    if event.outcome is ToolOutcome.UNKNOWN:
        return state, replace(attempt, open=False)
    taken = _read_snapshot(event)
    if taken.changed is None:
        state = changed(state, not_compared=state.not_compared + 1)
    state = changed(state, snapshot=taken.id or state.snapshot)
    kept, paths = state.constraints.requirements, taken.changed or ()
    if any(files_limit(item) is not None for item in kept):
        state = changed(state, touched=state.touched.union(paths))
    findings = (
        *changed_paths(kept, paths, attempt.step),
        *outside_scope(kept, paths, attempt.step),
        *too_many_files(kept, state.touched, paths, attempt.step),
    )
    # While another step is at work, nobody knows which of them has changed the paths.
    if attempt.phase is AttemptPhase.COMPARE and paths and len(state.active) == 1:
        check = state.plan.by_id[attempt.step].guard
        by_check = check_change_finding(check, paths, attempt.step)
        if not findings:
            return changed(state, violations=(*state.violations, by_check)), pass_phase(attempt)
        findings = (*findings, by_check)
    if not findings:
        return state, pass_phase(attempt)
    return changed(state, violations=(*state.violations, *findings)), replace(
        fail_phase(attempt, *findings), skipped=True
    )


def _read_snapshot(event: ToolFinished) -> WorkspaceSnapshot:
    if event.outcome is ToolOutcome.SUCCEEDED:
        try:
            return read_snapshot(event.output)
        except ValidationError:
            pass
    return WorkspaceSnapshot(id="", notice=event.reason)
