"""The rules about people: what to ask, when to ask no longer, and what a changed requirement means. Pure.

They decide about the questions of `actors.run.questions`, the reviews of `actors.guards.review`, and what the user says
of their own accord.
"""

from actors.guards import review
from actors.planning import planning_questions
from actors.planning.early_ends import reject_cut
from actors.planning.events import Revised, RunFinished, VerdictReached
from actors.planning.given_plans import ask_or_end
from actors.planning.ids import branch_of
from actors.planning.planning_questions import blocks
from actors.planning.state import Branch, State
from actors.policy.decision import after_change
from actors.run import questions
from actors.run.ids import step_of
from actors.run.questions import (
    ClarificationRequested,
    ClarificationWithdrawn,
    Question,
    Status,
)
from actors.search.progress import Phase, cleared_steps
from actors.values.findings import Verdict


def ask(state: State, branch: Branch) -> ClarificationRequested | RunFinished | None:
    """Ask the next question that was decided on, or end the run with it where the run asks nobody."""
    if not branch.to_ask:
        return None
    planned = branch.to_ask[0]
    question = ClarificationRequested(
        question_id=questions.new_id(state.run.questions),
        node=planned.node,
        **planned.asked.form,
        why=f"{planned.step}: {planned.rule}",
        blocks=blocks(state, planned.step),
    )
    return ask_or_end(state, question)


def withdraw(state: State, branch: Branch) -> ClarificationWithdrawn | None:
    """Withdraw a question whose step is no longer where it was when it asked."""
    if not state.run.questions:
        return None
    for name, request in state.run.open_questions.items():
        if branch_of(request.node) != branch.number:
            continue
        phase, newest = branch.progress[request.step].phase, state.newest(branch, request.step)
        waits = phase is Phase.ASKED and newest is not None and newest.node == request.node
        if branch.pruned or not (request.node in state.reviews if request.review else waits):
            return ClarificationWithdrawn(question_id=name)
    return None


def replan(state: State) -> Revised | None:
    """Go back as far as the policy says after a changed requirement, in a new round."""
    if not state.to_replan:
        return None
    config = state.config
    level, targets = after_change(config.graph, config.roles, config.policy)
    return Revised(
        revision=state.revision + 1,
        level=level,
        targets=targets,
        cleared=cleared_steps(config.graph, targets),
        new_round=True,
        branch=None if len(state.branches) > 1 else 0,
    )


def look(state: State) -> ClarificationRequested | RunFinished | VerdictReached | None:
    """Have a person judge what no other guard rejects, and take their verdict."""
    if not state.reviews:
        return None
    for node, others in state.reviews.items():
        step, question = step_of(node), _review_of(state, node)
        if question is None and (rejection := reject_cut(state, node)) is not None:
            return rejection
        if question is None and step not in state.silenced:
            request = ClarificationRequested(
                question_id=questions.new_id(state.run.questions),
                node=node,
                **planning_questions.review(step, blocks(state, step)).form,
                why=f"{step}: {review.NAME}",
                blocks=blocks(state, step),
                review=True,
            )
            return ask_or_end(state, request)
        if question is None or not question.open:
            guard = state.config.workflow.effective_guard(step)
            verdict = review.combine_with_review(guard, others, _person_verdict(question))
            return VerdictReached(node=node, at=state.run.now, elapsed=0.0, verdict=verdict)
    return None


def _person_verdict(question: Question | None) -> Verdict:
    if question is not None and question.status is Status.ANSWERED:
        return review.verdict_of(question.answer)
    status = "not asked for, since an earlier one was not given" if question is None else question.status
    return review.verdict_without_answer(f"the review was {status}")


def _review_of(state: State, node: str) -> Question | None:
    for question in state.run.questions.values():
        if question.request.review and question.request.node == node:
            return question
    return None
