"""Applies the results of requests to an attempt. Pure: each function returns the attempt after an event.

If a call of a tool that is not repeatable breaks off, a person says whether the call did its work. If a check could not
run, the next attempt begins with the check.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from actors.execution import faults
from actors.execution.config import ExecutionConfig, ReadyPlan
from actors.execution.events import FileReplied
from actors.execution.state import Attempt, AttemptPhase, State
from actors.plans.plan import Step
from actors.run.questions import (
    FAILED,
    NOT_RUN,
    SUCCEEDED,
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
)
from actors.run.tools import ToolFinished, ToolOutcome, ToolRequested
from actors.tools.agent_work import diff_use, merge_use
from actors.tools.output_parsing import find_values, outcome_of
from actors.tools.snapshot_texts import file_in, snapshot_use
from actors.tools.uses import AgentTerms, ModelUse, PersonUse, ToolUse, Use
from actors.values.findings import Code, Finding

DONE = "it was done"
NOT_DONE = "it failed"
CHECK_PASSES = "it passes"
CHECK_FAILS = "it does not pass"

CHECKS = frozenset({AttemptPhase.CHECK_PRE, AttemptPhase.CHECK})
_CONFIRMATIONS = {AttemptPhase.APPROVE: "yes", AttemptPhase.ACT: DONE, AttemptPhase.CHECK: CHECK_PASSES}
_AFTER_WORK = CHECKS | {AttemptPhase.MERGE}


def phases_of(config: ExecutionConfig, plan: ReadyPlan, step: str) -> tuple[AttemptPhase, ...]:
    """Return the phases of an attempt at a step, in order."""
    act, *checks = plan.uses(config.tools, step)
    phases: list[AttemptPhase] = [AttemptPhase.APPROVE] if config.needs_approval(step, plan) else []
    snapshot = [AttemptPhase.SNAPSHOT] if config.snapshots else []
    match act:
        case ToolUse(agent=AgentTerms()):  # The work is checked in a worktree before the merge.
            phases += [AttemptPhase.PRE_CHECK] if act.pre_check else []
            phases += [AttemptPhase.BASE, AttemptPhase.ACT, AttemptPhase.DIFF]
            phases += [phase for check in checks for phase in _phases_of_check(check)]
            return (*phases, AttemptPhase.MERGE, *snapshot)
        case ToolUse():
            phases += [AttemptPhase.PRE_CHECK, AttemptPhase.ACT] if act.pre_check else [AttemptPhase.ACT]
        case ModelUse():
            phases += [AttemptPhase.PRE_CHECK] if act.pre_check else []
            phases += [AttemptPhase.READ, AttemptPhase.ACT, AttemptPhase.WRITE]
        case PersonUse():
            phases.append(AttemptPhase.ACT)
        case _:
            assert_never(act)
    phases += snapshot
    for check in checks:
        phases += _phases_of_check(check)
        phases += [AttemptPhase.COMPARE] if config.snapshots and isinstance(check, ToolUse) else []
    return tuple(phases)


def _phases_of_check(check: Use) -> list[AttemptPhase]:
    before = [AttemptPhase.CHECK_PRE] if isinstance(check, ToolUse) and check.pre_check else []
    return [*before, AttemptPhase.CHECK]


def tool_use(config: ExecutionConfig, plan: ReadyPlan, attempt: Attempt, since: str = "") -> ToolUse | None:
    """Return the tool call of the current phase; None if the phase calls no tool.

    If the call takes a snapshot, this snapshot is compared with the snapshot `since`.
    """
    act, *checks = plan.uses(config.tools, attempt.step)
    match attempt.phase:
        case AttemptPhase.PRE_CHECK:
            return None if isinstance(act, PersonUse) else act.pre_check
        case AttemptPhase.READ:
            return act.reading() if isinstance(act, ModelUse) else None
        case AttemptPhase.ACT:
            return act if isinstance(act, ToolUse) else None
        case AttemptPhase.WRITE:
            return act.writing(attempt.text) if isinstance(act, ModelUse) else None
        case AttemptPhase.BASE:
            return snapshot_use(f"{attempt.node}.base", since)
        case AttemptPhase.DIFF:
            terms = act.agent if isinstance(act, ToolUse) else None
            if terms is None:
                return None
            return diff_use(attempt.node, attempt.base, terms.files_max, terms.diff_bytes_max)
        case AttemptPhase.MERGE:
            return merge_use(attempt.node, attempt.base, attempt.work)
        case AttemptPhase.SNAPSHOT:
            return snapshot_use(attempt.node, since)
        case AttemptPhase.COMPARE:
            return snapshot_use(f"{attempt.node}.compare", since)
        case AttemptPhase.CHECK_PRE:
            return checks[0].pre_check if checks and isinstance(checks[0], ToolUse) else None
        case AttemptPhase.CHECK:
            return checks[0] if checks and isinstance(checks[0], ToolUse) else None
        case AttemptPhase.APPROVE | None:
            return None
        case _:
            assert_never(attempt.phase)


def person_use(config: ExecutionConfig, plan: ReadyPlan, attempt: Attempt) -> PersonUse | None:
    """Return what a person must do in the attempt's current phase; None if the phase needs no person."""
    act, *checks = plan.uses(config.tools, attempt.step)
    use: Use | None = None
    if attempt.phase is AttemptPhase.ACT:
        use = act
    elif attempt.phase is AttemptPhase.CHECK and checks:
        use = checks[0]
    return use if isinstance(use, PersonUse) else None


def open_phase(attempt: Attempt, request: ToolRequested | None = None) -> Attempt:
    """Return the attempt after its current phase was requested. `request` is None if the phase calls no tool."""
    if request is None:
        return replace(attempt, begun=True, open=True)
    acted = attempt.acted or not request.repeatable
    return replace(attempt, begun=True, open=True, unsure=False, tries=request.try_number, acted=acted)


def pass_phase(attempt: Attempt) -> Attempt:
    """Return the attempt after its current phase has succeeded."""
    todo = attempt.todo[1:]
    return replace(attempt, todo=todo, open=False, unsure=False, tries=0, result="" if todo else "passed")


def fail_phase(attempt: Attempt, *findings: Finding) -> Attempt:
    """Return the attempt after its current phase has failed."""
    return replace(attempt, open=False, unsure=False, result="failed", findings=findings)


def first_attempt(state: State, step: str) -> Attempt:
    """Return the first attempt of a step's next visit."""
    name = state.plan.names[step]
    phases, visit = phases_of(state.config, state.plan, step), state.visits.get(name, 0) + 1
    if visit == 1 and step in state.approved:
        phases = tuple(phase for phase in phases if phase is not AttemptPhase.APPROVE)
    return Attempt(step, name, state.revision, visit=visit, number=1, todo=phases)


def next_attempt(attempt: Attempt, phases: tuple[AttemptPhase, ...], delay_seconds: float) -> Attempt:
    """Return the attempt that follows a failed attempt in the same visit.

    If the failed attempt did its work, but the check or the merge could not run, the next attempt begins with that
    check or merge.
    """
    is_done = attempt.phase in _AFTER_WORK and attempt.findings[0].code in (Code.TOOL_TRANSIENT, Code.TOOL_BROKEN)
    todo = phases
    if is_done:
        kept = {*_AFTER_WORK, AttemptPhase.SNAPSHOT if attempt.work else AttemptPhase.COMPARE}
        todo = tuple(phase for phase in phases if phase in kept)
        todo = todo[todo.index(AttemptPhase.MERGE) :] if attempt.phase is AttemptPhase.MERGE else todo
    return Attempt(
        step=attempt.step,
        name=attempt.name,
        revision=attempt.revision,
        visit=attempt.visit,
        number=attempt.number + 1,
        todo=todo,
        backoff_seconds=delay_seconds,
        acted=attempt.acted and is_done,
        outcome=attempt.outcome if is_done else "",
        values=attempt.values if is_done else (),
        base=attempt.base if is_done else "",
        work=attempt.work if is_done else "",
        since=attempt.since,
    )


def apply_tool_end(attempt: Attempt, use: ToolUse, event: ToolFinished) -> Attempt:
    """Return the attempt after the tool call of its current phase has ended.

    If the call is expected to fail, a failed call passes the phase, and a successful call fails the phase. If the call
    was interrupted, the attempt fails if another attempt does no harm. Otherwise a person must say what the interrupted
    call did.
    """
    # Another attempt does no harm: the call may be repeated, was not made, or its agent's work is not merged yet.
    may_retry = use.repeatable or event.not_made or use.agent is not None
    match event.outcome:
        case ToolOutcome.SUCCEEDED if use.expect == "failure":
            return fail_phase(attempt, faults.unexpected_success(attempt, use.tool, event))
        case ToolOutcome.FAILED if use.expect == "failure":
            return pass_phase(attempt)
        case ToolOutcome.SUCCEEDED:
            after = pass_phase(attempt)
            return replace(after, read=event.output) if attempt.phase is AttemptPhase.READ else after
        case ToolOutcome.FAILED:
            return fail_phase(attempt, faults.rejected_result(attempt, use.tool, event))
        case ToolOutcome.PERMANENT:
            return fail_phase(attempt, faults.permanent_failure(attempt, use.tool, event.reason))
        case ToolOutcome.TRANSIENT if may_retry:
            return fail_phase(attempt, faults.transient_failure(attempt, use.tool, event.reason))
        case ToolOutcome.BROKEN if may_retry:
            return fail_phase(attempt, faults.broken_call(attempt, use.tool, event))
        case ToolOutcome.TRANSIENT | ToolOutcome.BROKEN:  # The call may have done its work.
            return replace(attempt, open=False, unsure=True)
        case ToolOutcome.UNKNOWN if event.question_id is not None:
            finding = faults.unknown_outcome(attempt, use.tool, event.reason)
            return replace(attempt, open=False, unsure=False, result="unknown", findings=(finding,))
        case ToolOutcome.UNKNOWN:  # The run ended before anybody was asked.
            return replace(attempt, open=False, unsure=not use.repeatable)
        case _:
            assert_never(event.outcome)


def apply_output(attempt: Attempt, step: Step, use: ToolUse, output: str, values: Mapping[str, str]) -> Attempt:
    """Return the attempt with the outcome and the values that the output of its successful generator contains.

    The attempt has failed if the output matches no outcome of the step, or lacks the value of a token that the step
    adds. The output is empty if a person has reported the success.
    """
    outcome = outcome_of(use.outcomes, output, values) if step.outcomes else ""
    chosen = [item for item in step.outcomes if item.name == outcome]
    if step.outcomes and not chosen:
        known = ", ".join(item.name for item in step.outcomes)
        problem = f"matches none of the outcomes {known}"
        return fail_phase(attempt, faults.unreadable_output(attempt, use.tool, problem, output))
    added = step.effects.union(*(item.effects for item in chosen))
    found = find_values(use.values, added, output)
    if found.problem:
        return fail_phase(attempt, faults.unreadable_output(attempt, use.tool, found.problem, output))
    return replace(attempt, outcome=outcome, values=found.values)


def apply_file(attempt: Attempt, event: FileReplied) -> Attempt:
    """Return the attempt after a model has replied with a file. An incomplete reply is never written."""
    if event.ended_early:
        return fail_phase(attempt, faults.incomplete_file(attempt, event.finish_reason))
    return replace(pass_phase(attempt), text=file_in(event.content))


Answer = ClarificationAnswered | ClarificationDeclined | ClarificationExpired


def apply_answer(attempt: Attempt, question: ClarificationRequested, event: Answer) -> Attempt:
    """Return an attempt after the question about this attempt was closed."""
    answer = event.answer if isinstance(event, ClarificationAnswered) else ""
    if question.node == attempt.question_node:
        return _record_told_outcome(attempt, answer)
    if attempt.phase not in _CONFIRMATIONS:
        return attempt
    if answer == _CONFIRMATIONS[attempt.phase]:
        return pass_phase(attempt)
    return fail_phase(attempt, faults.unconfirmed_phase(attempt, answer))


def _record_told_outcome(attempt: Attempt, answer: str) -> Attempt:
    match answer:
        case str() if answer == SUCCEEDED:
            return pass_phase(attempt)
        case str() if answer == FAILED:
            return fail_phase(attempt, faults.reported_failure(attempt))
        case str() if answer == NOT_RUN:
            return replace(attempt, open=False, unsure=False)
        case _:
            finding = faults.unknown_outcome(attempt, "", "nobody has answered the question about the call")
            return replace(attempt, open=False, unsure=False, result="unknown", findings=(finding,))
