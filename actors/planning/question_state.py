"""The part of `evolve` for questions and the user's messages, beside `actors.run.questions`. Pure."""

from actors.planning.call_state import Common
from actors.planning.planning_questions import of_verdict
from actors.planning.state import Branch, PlannedQuestion, Revision, State, with_branch
from actors.policy.decision import Decision
from actors.policy.table import BacktrackLevel
from actors.run.inbox import NoteTold, RequirementTold
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationRequested,
    ClarificationWithdrawn,
    ClosingEvent,
    Status,
)
from actors.search.progress import Phase, mark
from runtime.core.copies import changed


def planned(state: State, decision: Decision) -> tuple[PlannedQuestion, ...]:
    """Return the questions that a decision to ask means."""
    verdict = state.nodes[decision.node].verdict
    assert verdict is not None
    history = state.branch_of(decision.node).history
    forms = of_verdict(state, decision.step, verdict, state.questions_left(decision.step), history)
    return tuple(PlannedQuestion(decision.node, decision.step, form, decision.rule) for form in forms)


def asked(state: State, run: Common, branch: Branch, event: ClarificationRequested) -> State:
    """Return the state after a question was asked."""
    if event.review:
        return changed(state, run=run)
    return changed(state, run=run, branches=with_branch(state.branches, changed(branch, to_ask=branch.to_ask[1:])))


def closed(state: State, run: Common, branch: Branch, event: ClosingEvent) -> State:
    """Return the state after a question was closed; its step goes on when none of its questions is open any more."""
    before = state.run.questions[event.question_id]
    state = changed(state, run=run)
    if isinstance(event, ClarificationWithdrawn):
        return state
    step = before.request.step
    unanswered = not isinstance(event, ClarificationAnswered)
    if before.request.review:
        return changed(state, silenced=state.silenced | {step}) if unanswered else state
    if not before.open:
        # What answers a closed question redoes nothing, but it is known from now on, and opens a round as any answer.
        return _to_revise(state, branch, ())
    together = [other for other in state.run.questions.values() if other.request.node == before.request.node]
    if any(question.open for question in together):
        return state
    if any(question.status is Status.ANSWERED for question in together):
        return _to_revise(state, branch, (step,))
    # Nobody answered: the same rejection is decided about again, and this time nobody can be asked.
    branch = changed(branch, progress=mark(branch.progress, step, Phase.FAILED))
    return changed(state, silenced=state.silenced | {step}, branches=with_branch(state.branches, branch))


def _to_revise(state: State, branch: Branch, targets: tuple[str, ...]) -> State:
    earlier = branch.to_revise
    if earlier is not None and earlier.new_round:  # Several answers were taken before anything was decided.
        targets = tuple(dict.fromkeys((*earlier.targets, *targets)))
    revision = Revision(BacktrackLevel.CLARIFY, targets, new_round=True)
    return changed(state, branches=with_branch(state.branches, changed(branch, to_revise=revision)))


def with_message(state: State, run: Common, event: NoteTold | RequirementTold) -> State:
    """Return the state after the user sent a note or a requirement."""
    to_replan = state.to_replan or isinstance(event, RequirementTold)
    return changed(state, run=run, to_replan=to_replan)
