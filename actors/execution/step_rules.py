"""The rules about steps: settle a step, attempt a step again, or make the next request of a step. Pure."""

from actors.execution import faults, undo_rules
from actors.execution.attempts import first_attempt, person_use, tool_use
from actors.execution.events import AttemptDecided, FileRequested, StepOutcome, StepSettled
from actors.execution.execution_questions import ask_approval, ask_outcome, ask_person
from actors.execution.ids import Owner, owner_of
from actors.execution.requests import call_request, file_request
from actors.execution.state import Attempt, AttemptPhase, State, covers, is_spent, next_step
from actors.execution.trouble_rules import choose
from actors.execution.workspace_rules import call_fields, needs_to_look_up, request_first_snapshot, request_look
from actors.plans.plan import CONTINUE, ESCALATE, NEVER, UNDO
from actors.policy.table import BacktrackLevel
from actors.run.ending import Outcome, RunFinished, end_exhausted_run
from actors.run.ids import rest_id
from actors.run.questions import ClarificationRequested, ClarificationWithdrawn
from actors.run.tools import ToolRequested
from actors.run.waits import HOME_BUDGET, WaitRequested
from actors.values.findings import Code, Finding
from runtime.core.ledger import Limit

REFUSED = "user"
"""The rule that a decision names if a person has refused to approve the attempt."""


def settle(state: State) -> AttemptDecided | StepSettled | None:
    """Settle a step whose attempt has ended, or ask the policy whether to attempt it again.

    A failure that the policy must handle is recorded only after all running steps have ended and no earlier trouble
    waits for a decision. If the earlier trouble leads to another visit of a step, the failure is recorded after that
    decision.
    """
    waiting: StepSettled | None = None
    undecided = state.trouble is not None and state.replan is None and state.ending is None
    for attempt in state.active.values():
        match attempt.result:
            case "passed":
                return _settle_step(state, attempt, StepOutcome.OK)
            case "failed":
                if not (attempt.skipped or state.draining or _is_last(state, attempt)):
                    return _decide_attempt(state, attempt)
                if undecided and _is_handed_over(state, attempt):
                    continue
                event = _settle_failure(state, attempt)
                if not event.handed_over:
                    return event
                waiting = waiting or event
            case "unknown":
                event = _settle_step(
                    state, attempt, StepOutcome.UNKNOWN, attempt.findings, handed_over=not state.draining
                )
                waiting = waiting or event
            case _:
                pass
    if waiting is not None and all(attempt.result for attempt in state.active.values()):
        return waiting
    return None


def _awaits_handover(state: State) -> bool:
    """Return whether a failure that the plan does not handle waits until the running steps have ended."""
    for attempt in state.active.values():
        if attempt.result == "unknown":
            return True
        if attempt.result == "failed" and (attempt.skipped or _is_last(state, attempt)):
            return _settle_failure(state, attempt).handed_over
    return False


def _is_last(state: State, attempt: Attempt) -> bool:
    return attempt.number >= state.plan.by_id[attempt.step].retry_budget


def _settle_step(
    state: State,
    attempt: Attempt,
    outcome: StepOutcome,
    findings: tuple[Finding, ...] = (),
    *,
    handed_over: bool = False,
) -> StepSettled:
    return StepSettled(
        step=attempt.step,
        node=attempt.node,
        outcome=outcome,
        handed_over=handed_over,
        late=state.draining,
        findings=findings,
        branch=attempt.outcome if outcome is StepOutcome.OK else "",
    )


def _settle_failure(state: State, attempt: Attempt) -> StepSettled:
    findings = attempt.findings
    if state.draining:
        return _settle_step(state, attempt, StepOutcome.FAIL, findings)
    is_violation = any(finding.code == Code.VIOLATED for finding in findings)
    if state.plan.by_id[attempt.step].on_failure == NEVER and not is_violation:
        findings = (*findings, faults.broken_assumption(attempt.step))
    return _settle_step(state, attempt, StepOutcome.FAIL, findings, handed_over=_is_handed_over(state, attempt))


def _is_handed_over(state: State, attempt: Attempt) -> bool:
    if any(finding.code == Code.VIOLATED for finding in attempt.findings):
        return True
    on_failure = state.plan.by_id[attempt.step].on_failure
    if on_failure in (NEVER, ESCALATE, UNDO):
        return True
    return on_failure != CONTINUE and not covers(state, state.plan.index[attempt.step])


def _decide_attempt(state: State, attempt: Attempt) -> AttemptDecided:
    """Return the policy's decision about a failed attempt. An attempt that a person has refused is not tried again."""
    choice = choose(state.config.policy, attempt.findings)
    is_refused = attempt.findings[0].code == Code.NOT_APPROVED
    again = choice.level is BacktrackLevel.LOCAL_RETRY and not is_refused
    return AttemptDecided(
        node=attempt.node,
        again=again,
        level=choice.level,
        rule=REFUSED if is_refused else choice.row.id,
        code=choice.finding.code,
        known=choice.known or is_refused,
        delay_seconds=choice.delay_seconds(attempt.number - 1) if again else 0.0,
    )


def withdraw(state: State) -> ClarificationWithdrawn | None:
    """Withdraw a question if its attempt has ended or its trouble was decided."""
    for name, question in state.run.open_questions.items():
        node = question.node
        if question.reached is not None or owner_of(node) is Owner.OTHER:
            continue  # A question about the outcome of a call. The rules of every run ask and close it.
        if state.undoing is not None and state.undoing.question == name:
            continue
        of_trouble = state.trouble is not None and state.trouble.question == name
        attempt = state.active.get(node.partition("/")[0])
        of_attempt = attempt is not None and attempt.open and node in (attempt.at_work, attempt.question_node)
        if not (of_trouble or of_attempt):
            return ClarificationWithdrawn(question_id=name)
    return None


def rest(state: State) -> WaitRequested | None:
    """Wait before an attempt if the policy delays the attempt."""
    run = state.run
    if state.undoing is not None:
        return undo_rules.rest(state)
    if run.parked:
        return None
    for attempt in state.active.values():
        name = rest_id(attempt.node)
        if attempt.backoff_seconds and not attempt.begun and name not in run.waits:
            until = run.wall + attempt.backoff_seconds
            return WaitRequested(request_id=name, until=until, why="back-off", node=attempt.node)
    return None


StepRequest = ToolRequested | FileRequested | ClarificationRequested


def request(state: State) -> StepRequest | RunFinished | None:
    """Make the next request of an attempt, or begin a step. End the run if the limits forbid both and no work is open.

    No step and no further attempt begins while a failure waits for the policy, or after a replan was decided.
    """
    run = state.run
    if state.undoing is not None:
        return undo_rules.request(state)
    if run.parked or run.renewing:
        return None
    short: Limit | None = None
    for attempt in state.active.values():
        next_request = _next_request(state, attempt)
        if isinstance(next_request, Limit):
            short = next_request
        elif next_request is not None:
            return next_request
    first = request_first_snapshot(state)
    if first is not None or (state.config.snapshots and state.snapshot is None):
        return first
    if (needs := needs_to_look_up(state)) is not None:
        return request_look(state, needs)
    next_request = None if state.draining or _awaits_handover(state) else _begin_step(state)
    if isinstance(next_request, Limit):
        short = next_request
    elif next_request is not None:
        return next_request
    return None if short is None or is_working(state) else end_exhausted_run(short)


def is_working(state: State) -> bool:
    """Return whether any open work can still make the run continue."""
    run = state.run
    tries = any(tries.phase != "rested" for tries in run.calls.tries.values())
    rests = any(wait.node is not None for wait in run.waits.values())
    return bool(run.calls.open or tries or rests or run.tools or run.open_questions or state.proving)


def _begin_step(state: State) -> StepRequest | RunFinished | Limit | None:
    index = next_step(state)
    if index is None:
        return None
    if is_spent(state):
        return None if state.active else _end_spent_run(state)
    return _next_request(state, first_attempt(state, state.plan.program.steps[index].step_id))


def _end_spent_run(state: State) -> RunFinished:
    total = state.plan.plan.total_retry_budget
    why = f"all {total} attempts that the plan's total_retry_budget allows are used up"
    return RunFinished(outcome=Outcome.BUDGET_EXHAUSTED, why=why)


def _next_request(state: State, attempt: Attempt) -> StepRequest | RunFinished | Limit | None:
    """Return the request for the attempt's current phase, or the limit that forbids it; None if no request is due."""
    run = state.run
    if attempt.result or attempt.open or attempt.backoff_seconds:
        return None
    if not attempt.begun and is_spent(state):  # A failed attempt that waits for the policy is not at work.
        at_work = any(other.begun and not other.result for other in state.active.values())
        return None if at_work else _end_spent_run(state)
    if attempt.unsure:
        return ask_outcome(state, attempt)
    use = tool_use(state.config, state.plan, attempt, state.snapshot or "")
    if use is not None:
        call = call_request(attempt.at_work, use, try_number=attempt.tries + 1, **call_fields(state, attempt, use))
        if call.micro_usd_max and HOME_BUDGET in run.waits:
            return None
        return run.ledger.shortfall(call.reserve, run.now) or call
    person = person_use(state.config, state.plan, attempt)
    if person is not None:
        return ask_person(state, attempt, person)
    if attempt.phase is AttemptPhase.APPROVE:
        return ask_approval(state, attempt)
    return file_request(state, attempt)
