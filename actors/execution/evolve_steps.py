"""Applies events to the steps of the plan and their attempts. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from actors.execution import evolve_undo, faults, workspace_rules
from actors.execution.attempts import (
    Answer,
    apply_answer,
    apply_file,
    apply_output,
    apply_tool_end,
    fail_phase,
    first_attempt,
    next_attempt,
    open_phase,
    phases_of,
    tool_use,
)
from actors.execution.events import AttemptDecided, FileReplied, StepOutcome, StepSettled, TroubleCause
from actors.execution.forbidden import broken_tokens, forbidden_uses, missed_deadlines
from actors.execution.goals import blocked_goals, goals_of, statuses
from actors.execution.ids import WORKSPACE_END, WORKSPACE_START, is_look, parse_node, tool_node
from actors.execution.state import Attempt, AttemptPhase, State, StepResult, Trouble
from actors.plans.constraints import Constraints
from actors.plans.semantics import (
    FAIL,
    OK,
    Configuration,
    after_failure,
    after_success,
    broken_invariants,
    ready_steps,
    trace_item,
)
from actors.run.questions import ClarificationRequested
from actors.run.tools import ToolFinished, ToolOutcome, ToolRequested
from actors.run.waits import WaitRequested
from actors.tools.uses import ModelUse, is_agent
from actors.values.artifacts import Feedback
from actors.values.findings import Code, Finding
from runtime.core.copies import changed, without

FEEDBACK_WINDOW = 5
"""The largest number of a step's latest rejections that the prompt of a model shows."""


def set_constraints(state: State, constraints: Constraints) -> State:
    """Return the state with new constraints.

    If the constraints forbid a step, a running attempt at this step fails: at once, or after its open request has
    ended.
    """
    tools = state.config.tools
    steps = state.plan.program.steps
    barred = frozenset(
        index for index, step in enumerate(steps) if forbidden_uses(constraints.requirements, step, tools)
    )
    state = changed(state, constraints=constraints, barred=barred)
    return changed(state, active={name: _end_if_barred(state, attempt) for name, attempt in state.active.items()})


def _end_if_barred(state: State, attempt: Attempt) -> Attempt:
    if state.plan.index[attempt.step] not in state.barred or attempt.open or attempt.unsure or attempt.result:
        return attempt
    findings = forbidden_uses(state.constraints.requirements, state.plan.by_id[attempt.step], state.config.tools)
    return replace(fail_phase(attempt, *findings), skipped=True)


def _with_attempt(state: State, attempt: Attempt) -> State:
    return changed(state, active={**state.active, attempt.name: attempt})


def begin_visit(state: State, step: str, backoff_seconds: float = 0.0) -> State:
    """Return the state with a new visit of a step, whose first attempt waits for `backoff_seconds`."""
    plan = state.plan
    starts = state.starts + 1
    attempt = replace(first_attempt(state, step), backoff_seconds=backoff_seconds, since=state.run.now)
    starts_of = state.started
    if plan.program.repeats:
        starts_of = {**starts_of, (state.now.tokens, plan.index[step]): starts}
    visits = {**state.visits, attempt.name: attempt.visit}
    return _with_attempt(changed(state, visits=visits, starts=starts, started=starts_of), attempt)


def _with_visit(state: State, node: str) -> State:
    parsed = parse_node(node)
    if parsed is None or parsed.revision != state.revision or parsed.name in state.active:
        return state
    # Any other node belongs to a question about the outcome of a call. The rules of every run ask this question.
    if parsed.name not in state.plan.by_name:
        return state
    return begin_visit(state, state.plan.by_name[parsed.name])


def record_request(state: State, node: str, request: ToolRequested | None = None) -> State:
    """Return the state after a phase was requested.

    `request` is the request of a tool call; None for any other phase.
    """
    state = _with_visit(state, node)
    attempt = state.active.get(node.partition("/")[0])
    if attempt is None or attempt.at_work != node:
        return state
    used = state.used if attempt.begun else state.used + 1
    attempt = evolve_undo.record_call(state, open_phase(attempt, request), request)
    return changed(_with_attempt(state, attempt), used=used, calls=max(state.calls, attempt.call))


def record_question(state: State, event: ClarificationRequested) -> State:
    """Return the state after a question was asked.

    The question is a phase of an attempt, or is about an attempt's call.
    """
    state = record_request(state, event.node)
    attempt = state.active.get(event.node.partition("/")[0])
    if attempt is not None and event.node == attempt.question_node:
        return _with_attempt(state, replace(attempt, open=True))
    return state


def record_tool_end(state: State, event: ToolFinished) -> State:
    """Return the state after a call of a tool has ended."""
    node = tool_node(event.request_id)
    if node == WORKSPACE_START:
        return workspace_rules.apply_first_snapshot(state, event)
    if node == WORKSPACE_END:
        return workspace_rules.apply_last_snapshot(state, event)
    if is_look(node):
        return workspace_rules.apply_look(state, event)
    attempt = state.attempt_at(node)
    use = None if attempt is None else tool_use(state.config, state.plan, attempt)
    if attempt is None or use is None or attempt.result:
        return state
    if attempt.phase in (AttemptPhase.SNAPSHOT, AttemptPhase.COMPARE):
        return _end_phase(*workspace_rules.apply_step_snapshot(state, attempt, event))
    after = workspace_rules.add_commit(state, attempt, apply_tool_end(attempt, use, event), event)
    complete = _with_output(state, attempt, after, event.output)
    doubtful = event.outcome in (ToolOutcome.TRANSIENT, ToolOutcome.BROKEN, ToolOutcome.UNKNOWN)
    return _with_result(state, attempt, after, complete, may_have_run=doubtful and not event.not_made)


def _with_result(state: State, before: Attempt, after: Attempt, complete: Attempt, *, may_have_run: bool) -> State:
    """Return the state after a phase has ended, with the effect of the phase's call.

    While everything is being undone, no further phase begins.

    `before` is the attempt while the phase was open. `after` is the attempt after the phase has ended. `complete` is
    `after` with the outcome and the values from the output. If `may_have_run`, nobody knows whether the call did its
    work.
    """
    state = evolve_undo.with_effect_of(state, before, after, complete.values, may_have_run=may_have_run)
    if state.undoing is not None:
        return changed(state, active=without(state.active, (before.name,)))
    return _end_phase(state, complete)


def _with_output(state: State, before: Attempt, after: Attempt, output: str) -> Attempt:
    """Return an attempt after one of its phases.

    If the attempt's generator has succeeded, add the outcome and the values from the output. A finding about the output
    is made from `before`, because the finding must name the phase `act`.
    """
    use = tool_use(state.config, state.plan, before) if before.phase is AttemptPhase.ACT else None
    if use is None or after.result == "failed" or after.todo == before.todo:
        return after
    step = state.plan.by_id[before.step]
    if not state.plan.reads_output(state.config.tools, before.step):
        return after
    parsed = apply_output(replace(before, tries=0), step, use, output, state.values)
    return parsed if parsed.result else replace(after, outcome=parsed.outcome, values=parsed.values)


def record_reply(state: State, event: FileReplied) -> State:
    """Return the state after a model has replied with a file."""
    attempt = state.attempt_at(event.node)
    return state if attempt is None else _end_phase(state, apply_file(attempt, event))


def record_answer(state: State, question: ClarificationRequested, event: Answer) -> State:
    """Return the state after a question about an attempt was closed. The attempt may have ended before the answer."""
    attempt = state.active.get(question.node.partition("/")[0])
    if attempt is None or not attempt.open or question.node not in (attempt.at_work, attempt.question_node):
        return state
    after = apply_answer(attempt, question, event)
    complete = _with_output(state, attempt, after, "")
    return _with_result(state, attempt, after, complete, may_have_run=after.result == "unknown")


def end_backoff(state: State, wait: WaitRequested) -> State:
    """Return the state after a back-off has ended."""
    if wait.node is None:
        return state
    attempt = state.active.get(wait.node.partition("/")[0])
    if attempt is None or attempt.node != wait.node:
        return state
    return _with_attempt(state, replace(attempt, backoff_seconds=0.0))


def _end_phase(state: State, attempt: Attempt) -> State:
    """Return the state after a phase of an attempt has ended.

    If a model or an agent has failed, the next prompt includes the reason.
    """
    attempt = _end_if_barred(state, attempt)
    state = _with_attempt(state, attempt)
    if attempt.result != "failed":
        return state
    use = state.config.tools.generator_use(state.plan.by_id[attempt.step])
    if not isinstance(use, ModelUse) and not is_agent(use):
        return state
    feedback = Feedback(attempt.node, "\n\n".join(finding.message for finding in attempt.findings))
    window = (*state.feedback.get(attempt.name, ()), feedback)[-FEEDBACK_WINDOW:]
    return changed(state, feedback={**state.feedback, attempt.name: window})


def apply_decision(state: State, event: AttemptDecided) -> State:
    """Return the state after the policy has decided about a failed attempt."""
    attempt = state.active[event.node.partition("/")[0]]
    if not event.again:
        return _with_attempt(state, replace(attempt, skipped=True))
    phases = phases_of(state.config, state.plan, attempt.step)
    return _with_attempt(state, next_attempt(attempt, phases, event.delay_seconds))


def settle_step(state: State, event: StepSettled) -> State:
    """Return the state after a visit of a step has ended."""
    plan = state.plan
    index = state.plan.index[event.step]
    program = plan.program
    before = state.now
    match event.outcome:
        case StepOutcome.OK:
            now = after_success(program, before, index, event.branch or OK)
        case StepOutcome.FAIL:
            now = after_failure(program, before, index)
        case StepOutcome.UNKNOWN:
            now = before
        case _:
            assert_never(event.outcome)
    name = plan.names[event.step]
    attempt = state.active.get(name)
    result = StepResult(
        outcome=event.outcome,
        attempts=attempt.number if attempt is not None and event.node else 0,
        visits=state.visits.get(name, 0),
        seconds=max(0.0, state.run.now - attempt.since) if attempt is not None else 0.0,
        findings=event.findings,
    )
    trace = state.trace
    if not event.late and event.outcome is not StepOutcome.UNKNOWN:
        outcome = event.branch or OK if event.outcome is StepOutcome.OK else FAIL
        trace = (*trace, trace_item(program, index, outcome))
    state = changed(
        state,
        now=now,
        values=_values_after(state, attempt, event, program.names(now.tokens)),
        ready=plan.ready_after(state.ready, before, now),
        active=without(state.active, (name,)) if attempt is not None else state.active,
        results={**without(state.results, (event.step,)), event.step: result},
        trace=trace,
    )
    if not event.node:  # After a trouble, a person has reported the step as done.
        return evolve_undo.settle_by_hand(changed(state, trouble=None), event)
    return _add_trouble(state, before, event)


def _values_after(state: State, attempt: Attempt | None, event: StepSettled, tokens: list[str]) -> Mapping[str, str]:
    """Return the values of tokens after a visit of a step. A token that no longer holds has no value."""
    new = attempt.values if attempt is not None and event.node and event.outcome is StepOutcome.OK else ()
    if not (state.values or new):
        return state.values
    held = {*tokens, *state.unnamed}
    return {token: text for token, text in {**state.values, **dict(new)}.items() if token in held}


def _add_trouble(state: State, before: Configuration, event: StepSettled) -> State:
    if event.late or state.trouble is not None:
        return state
    broken_before = broken_invariants(state.plan.program, before)
    newly_broken = [
        invariant for invariant in broken_invariants(state.plan.program, state.now) if invariant not in broken_before
    ]
    violations = (*_find_violations(state, before, event.step), *_new_missed_deadlines(state, event.step))
    goals = _lost_goal_findings(state) if event.outcome is StepOutcome.FAIL else []
    if event.handed_over:
        findings = (*event.findings, *goals)
        trouble = Trouble(_cause(state, event), event.step, findings)
    elif violations:
        state = changed(state, violations=(*state.violations, *violations))
        trouble = Trouble(TroubleCause.REQUIREMENT_VIOLATED, "", violations)
    elif newly_broken:
        trouble = Trouble(TroubleCause.INVARIANT_BROKEN, "", (faults.broken_invariant(newly_broken),))
    elif goals:
        trouble = Trouble(TroubleCause.GOAL_FAILED, "", tuple(goals))
    else:
        return state
    return changed(state, trouble=trouble)


def _find_violations(state: State, before: Configuration, step: str) -> tuple[Finding, ...]:
    on_tokens = [item for item in state.constraints.requirements if item.tokens]
    if not on_tokens:
        return ()
    tokens = state.unnamed.union(state.plan.program.names(before.tokens))
    earlier_messages = {finding.message for finding in broken_tokens(on_tokens, tokens, step)}
    return tuple(
        finding for finding in broken_tokens(on_tokens, state.tokens, step) if finding.message not in earlier_messages
    )


def _new_missed_deadlines(state: State, step: str) -> tuple[Finding, ...]:
    findings = missed_deadlines(state.constraints.requirements, state.run.wall, step)
    messages = {finding.message for finding in state.violations}
    return tuple(finding for finding in findings if finding.message not in messages)


def _cause(state: State, event: StepSettled) -> TroubleCause:
    if event.outcome is StepOutcome.UNKNOWN:
        return TroubleCause.UNKNOWN_OUTCOME
    if any(finding.code == Code.VIOLATED for finding in event.findings):
        return TroubleCause.REQUIREMENT_VIOLATED
    never = not state.plan.program.can_fail[state.plan.index[event.step]]
    return TroubleCause.ASSUMPTION_BROKEN if never else TroubleCause.ESCALATED


def _lost_goal_findings(state: State) -> list[Finding]:
    goals = goals_of(state.plan.plan)
    if len(goals) < 2:
        return []
    status_of = statuses(goals, state.plan.program, state.now, state.tokens)
    return faults.failed_prerequisites(blocked_goals(goals, status_of))


def with_configuration(state: State, now: Configuration) -> State:
    """Return the state with another set of pending steps and another set of tokens."""
    return changed(state, now=now, ready=tuple(ready_steps(state.plan.program, now)))
