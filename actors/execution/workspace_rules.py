"""Snapshots of the workspace, and the steps that a coding agent carries out in a worktree. Pure.

An attempt of an agent has five phases. The workspace is recorded as a commit. The agent works in a worktree of that
commit. The agent's work is recorded as a second commit. The guard checks the second commit. The work is merged. The
journal stores the ids of the commits, so a program that moves a git ref has no effect on the run.
"""

from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from actors.execution import faults
from actors.execution.attempts import CHECKS, fail_phase, pass_phase
from actors.execution.events import TroubleCause
from actors.execution.forbidden import check_change_finding, check_changes, files_limit, protected_paths
from actors.execution.ids import WORKSPACE_END, WORKSPACE_START, look_node
from actors.execution.requests import call_request, step_context
from actors.execution.state import Attempt, AttemptPhase, State, Trouble
from actors.prompting.render import render
from actors.run.tools import ToolFinished, ToolOutcome, ToolRequested
from actors.tools.agent_work import AgentWork
from actors.tools.preflight_rules import Availability, Needs, PreflightReport, judge_report, needs_of, preflight_use
from actors.tools.snapshot_texts import WorkspaceSnapshot, read_snapshot, snapshot_use, touched_paths
from actors.tools.uses import AgentTerms, ToolUse, canonical
from actors.values.findings import Finding
from runtime.core.copies import changed


def request_first_snapshot(state: State) -> ToolRequested | None:
    """Take the snapshot of the workspace before the first step."""
    run = state.run
    if not state.config.snapshots or state.snapshot is not None or run.tools or run.parked or run.renewing:
        return None
    return call_request(WORKSPACE_START, snapshot_use("start"))


def request_look(state: State, needs: Needs) -> ToolRequested | None:
    """Request the preflight check of the plan; None while other work must end first."""
    run = state.run
    if state.draining or state.active or run.tools or run.parked or run.renewing:
        return None
    return call_request(look_node(state.looks + 1), preflight_use(needs))


def needs_to_look_up(state: State) -> Needs | None:
    """Return the needs that a preflight check must look up before the plan's first step; None if there are none."""
    if state.looked or not state.config.looks:
        return None
    return needs_of(state.plan.plan, state.config.tools)


def apply_look(state: State, event: ToolFinished) -> State:
    """Return the state after a preflight check. If a need of the plan is not met, the plan is interrupted.

    If the check fails, all needs are unknown, and the plan goes on.
    """
    if event.outcome is ToolOutcome.UNKNOWN:
        return state
    plan, tools = state.plan.plan, state.config.tools
    needs = needs_of(plan, tools) or Needs()
    try:
        seen = PreflightReport.model_validate_json(event.output)
    except ValidationError:
        unknown = Availability(answer="unknown", why=f"the preflight check failed: {event.reason}")
        seen = PreflightReport(
            calls=(unknown,) * len(needs.calls), paths=dict.fromkeys(needs.paths, unknown), clean=unknown
        )
    findings = judge_report(plan, tools, needs, seen, begun=state.revision > 1 or bool(state.results))
    lacking = tuple(finding for finding in findings if finding.severity == "error")
    unsure = tuple(finding for finding in findings if finding.severity == "warning")
    state = changed(state, looks=state.looks + 1, looked=True, unsure=unsure)
    if not lacking or state.draining:
        return state
    return changed(state, trouble=Trouble(TroubleCause.WORLD_LACKS, "", lacking))


def request_last_snapshot(state: State) -> ToolRequested | None:
    """Take a last snapshot and compare it with the first one, if requirements protect paths.

    The snapshots of the steps may miss changes by a failed tool, a person or another program. The last snapshot shows
    these changes.
    """
    if not state.first_snapshot or state.damaged is not None or not protected_paths(state.constraints.requirements):
        return None
    return call_request(WORKSPACE_END, snapshot_use("end", state.first_snapshot))


def apply_first_snapshot(state: State, event: ToolFinished) -> State:
    """Return the state after the first snapshot of the workspace was taken."""
    if event.outcome is ToolOutcome.UNKNOWN:  # The run has ended before. The snapshot is taken when the run goes on.
        return state
    snapshot = snapshot_of(event)
    return changed(state, snapshot=snapshot.id, first_snapshot=snapshot.id, not_compared=0 if snapshot.id else 1)


def apply_last_snapshot(state: State, event: ToolFinished) -> State:
    """Return the state after the last snapshot was compared with the first one.

    If the changes are not known, the result says that the workspace was not compared.
    """
    if event.outcome is ToolOutcome.UNKNOWN:
        return state
    snapshot = snapshot_of(event)
    protected = protected_paths(state.constraints.requirements)
    if snapshot.changed is None or snapshot.more:
        state = changed(state, not_compared=state.not_compared + 1)
    return changed(state, damaged=touched_paths(snapshot.changed or (), protected))


def apply_step_snapshot(state: State, attempt: Attempt, event: ToolFinished) -> tuple[State, Attempt]:
    """Return the state and the attempt after a snapshot was taken and compared with the previous snapshot.

    If the snapshot fails or the changes are not known, the attempt goes on. In this case, forbidden changes of the step
    are not checked, and the result says so.
    """
    if event.outcome is ToolOutcome.UNKNOWN:
        return state, replace(attempt, open=False)
    snapshot = snapshot_of(event)
    if snapshot.changed is None:
        state = changed(state, not_compared=state.not_compared + 1)
    state = changed(state, snapshot=snapshot.id or state.snapshot)
    requirements = state.constraints.requirements
    paths = snapshot.changed or ()
    if any(files_limit(item) is not None for item in requirements):
        state = changed(state, touched=state.touched.union(paths))
    findings = check_changes(requirements, paths, state.touched, attempt.step)
    # While another step is at work, nobody knows which step has changed the paths.
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


def snapshot_of(event: ToolFinished) -> WorkspaceSnapshot:
    """Return the snapshot that a call has taken.

    If the call has failed, return a snapshot without an id, with the reason.
    """
    if event.outcome is ToolOutcome.SUCCEEDED:
        try:
            return read_snapshot(event.output)
        except ValidationError:
            pass
    return WorkspaceSnapshot(id="", notice=event.reason)


def call_fields(state: State, attempt: Attempt, use: ToolUse) -> dict[str, Any]:
    """Return request fields for the current phase's call: its arguments, and a commit to check or a cost to reserve."""
    if use.agent is not None and attempt.phase is AttemptPhase.ACT:
        prompt = _agent_prompt(state, attempt, use.agent)
        arguments = canonical({"prompt": prompt, "base": attempt.base, "name": attempt.node})
        return {"arguments": arguments, "micro_usd_max": use.agent.micro_usd_max}
    arguments = state.config.tools.arguments(use, state.values)
    return {"arguments": arguments, "commit": attempt.work if attempt.phase in CHECKS else ""}


def _agent_prompt(state: State, attempt: Attempt, terms: AgentTerms) -> str:
    rendered = render(state.config.agent_prompt, step_context(state, attempt, (terms.instructions,)))
    return f"{rendered.system}\n\n{rendered.user}"


def add_commit(state: State, before: Attempt, after: Attempt, event: ToolFinished) -> Attempt:
    """Return the attempt with the commit that its phase has made: a commit of the workspace, or of an agent's work.

    If a requirement forbids an agent's work, the attempt fails before the work is checked. Other phases leave the
    attempt unchanged.
    """
    if len(after.todo) == len(before.todo):
        return after
    try:
        if before.phase is AttemptPhase.BASE:
            snapshot = read_snapshot(event.output)
            if snapshot.ref:
                return replace(after, base=snapshot.id)
            why = snapshot.notice or "the workspace is not the top folder of a git repository"
            return fail_phase(before, faults.permanent_failure(before, "workspace:snapshot", why))
        if before.phase is AttemptPhase.DIFF:
            work = AgentWork.model_validate_json(event.output)
            findings = _refused_work_findings(state, before, work.files)
            return fail_phase(before, *findings) if findings else replace(after, work=work.commit)
    except ValidationError:
        return fail_phase(before, faults.permanent_failure(before, "worktree:diff", "its output is not valid"))
    return after


def _refused_work_findings(state: State, attempt: Attempt, files: tuple[str, ...]) -> tuple[Finding, ...]:
    findings = check_changes(state.constraints.requirements, files, state.touched.union(files), attempt.step)
    return tuple(faults.refused_work(attempt, finding.message) for finding in findings)
