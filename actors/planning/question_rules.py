"""What the machine decides about people: what to ask, when to ask no longer, and what a change of mind means. Pure.

Rules of `advance`, kept apart because they share one subject: the questions of `actors.planning.questions`, the reviews
of `actors.guards.review`, and what the user says of their own accord.
"""

from actors.guards import review
from actors.planning.events import (
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
    Revised,
    VerdictReached,
    WaitRequested,
)
from actors.planning.ids import branch_of, step_of
from actors.planning.questions import Question, Status, expiry_id
from actors.planning.state import State
from actors.policy.decide import after_change
from actors.search.progress import Phase, cleared
from actors.values.findings import Verdict


def ask(state: State) -> ClarificationRequested | None:
    """Ask the next question that was decided on."""
    if not state.to_ask:
        return None
    wish = state.to_ask[0]
    return ClarificationRequested(
        question_id=_new_id(state),
        node=wish.node,
        text=wish.text,
        why=f"{wish.step}: {wish.rule}",
        blocks=_blocks(state, wish.step),
        answer_schema=wish.schema,
    )


def withdraw(state: State) -> ClarificationWithdrawn | None:
    """Withdraw a question whose step is no longer where it was when it asked."""
    for name, request in state.questions.items():
        if branch_of(request.node) != state.branch:
            continue
        newest = state.newest(request.step)
        waits = state.progress[request.step].phase is Phase.ASKED and newest is not None and newest.node == request.node
        if state.pruned or not (request.node in state.reviews if request.review else waits):
            return ClarificationWithdrawn(question_id=name)
    return None


def expire(state: State) -> ClarificationExpired | WaitRequested | None:
    """Close a question whose time is over, also when nobody drove the run then; else have the clock wait for it."""
    assert state.config is not None
    seconds = state.config.workflow.question_expires_seconds
    if seconds is None:
        return None
    for name in state.questions:
        until = state.asked[name].at + seconds
        if state.now >= until:
            return ClarificationExpired(question_id=name)
        if expiry_id(name) not in state.waits:
            return WaitRequested(request_id=expiry_id(name), until=until, why=f"{name} expires")
    return None


def replan(state: State) -> Revised | None:
    """Go back as far as the policy says after a changed requirement, in a new round."""
    assert state.config is not None
    if not state.to_replan:
        return None
    config = state.config
    level, targets = after_change(config.graph, config.roles, config.policy)
    return Revised(
        revision=state.revision + 1,
        level=level,
        targets=targets,
        cleared=cleared(config.graph, targets),
        new_round=True,
        branch=None if state.branches else state.branch,
    )


def look(state: State) -> ClarificationRequested | VerdictReached | None:
    """Have a person judge what no other guard rejects, and take their verdict."""
    assert state.config is not None
    for node, others in state.reviews.items():
        step, question = step_of(node), _review_of(state, node)
        if question is None and step not in state.silenced:
            return ClarificationRequested(
                question_id=_new_id(state),
                node=node,
                text=f"Approve what {step} has made, or reject it and say why.",
                why=f"{step}: {review.NAME}",
                blocks=_blocks(state, step),
                answer_schema=review.SCHEMA,
                review=True,
            )
        if question is None or not question.open:
            verdict = review.together(state.config.workflow.effective_guard(step), others, _said(question))
            return VerdictReached(node=node, at=state.now, elapsed=0.0, verdict=verdict)
    return None


def _said(question: Question | None) -> Verdict:
    if question is not None and question.status is Status.ANSWERED:
        return review.answered(question.answer)
    status = "not asked for, since an earlier one was not given" if question is None else question.status
    return review.unanswered(f"the review was {status}")


def _review_of(state: State, node: str) -> Question | None:
    found = (one for one in state.asked.values() if one.request.review and one.request.node == node)
    return next(found, None)


def _new_id(state: State) -> str:
    return f"q{len(state.asked) + 1}"


def _blocks(state: State, step: str) -> tuple[str, ...]:
    assert state.config is not None
    return (step, *state.config.graph.below[step])
