"""What people post to a run, and what of it can be taken. Pure; whoever posts asks the same questions before.

A message is JSON: `{"kind": "answer", "question", "answer"}`, `{"kind": "decline", "question"}`, `{"kind": "cancel"}`,
or `{"kind": "note", "text"}` and the same for a requirement. A question's answer and its decline share one key of the
inbox, so that the first of them stands.
"""

import json
from typing import Any

from actors.planning.events import (
    ClarificationAnswered,
    ClarificationDeclined,
    MailRefused,
    NoteTold,
    Outcome,
    PlanningEvent,
    RequirementTold,
    RunFinished,
)
from actors.planning.state import State
from actors.values.answers import fitted
from runtime.core.errors import UsageProblem
from runtime.core.messages import Mailed

TOLD_MAX = 10_000
"""Characters of one note or requirement; longer material belongs into a new run's problem."""
TOLD_COUNT_MAX = 100
"""Notes and requirements of one run: they stand in every later prompt."""

KINDS = ("note", "requirement")
"""What the user may tell a run of their own accord."""


def accept_mail(state: State, message: Mailed) -> PlanningEvent | None:
    """Return the fact that a person's message is: what they said, or that it could not be taken and why."""
    if state.finished is not None:
        return None
    try:
        return _taken(state, _body(message.body), message.at)
    except UsageProblem as problem:
        return MailRefused(at=message.at, key=message.key.encode("utf-8", "replace").decode(), reason=problem.cause)


def _taken(state: State, body: dict[str, Any], at: float) -> PlanningEvent:
    question = str(body.get("question", ""))
    match body.get("kind"):
        case "cancel":
            return RunFinished(outcome=Outcome.CANCELLED, why="cancelled by the user", at=at)
        case "answer":
            answer = fitting_answer(state, question, body.get("answer"))
            return ClarificationAnswered(question_id=question, at=at, answer=answer)
        case "decline":
            check_decline(state, question)
            return ClarificationDeclined(question_id=question, at=at)
        case "note":
            return NoteTold(at=at, text=tellable(state, body.get("text")))
        case "requirement":
            return RequirementTold(at=at, text=tellable(state, body.get("text")))
        case _:
            raise UsageProblem("not a message that a run understands")


def fitting_answer(state: State, question: str, answer: object) -> str:
    """Return an answer in the one spelling that it is kept in.

    An answer to a question that was withdrawn or has expired meanwhile is taken: what a person has said is not lost.
    Raises `UsageProblem` with the reason for one that cannot be taken; the question stays as it is.
    """
    _check_open(state, question, "clarification_answered")
    return fitted(state.asked[question].request.answer_schema, answer)


def check_decline(state: State, question: str) -> None:
    """Raise `UsageProblem` if a question cannot be declined."""
    _check_open(state, question, "clarification_declined")


def tellable(state: State, text: object) -> str:
    """Return a note or requirement as it is kept. Raises `UsageProblem` for one that cannot be taken."""
    if not isinstance(text, str) or not text.strip():
        raise UsageProblem("there is nothing in this message")
    if len(text) > TOLD_MAX:
        raise UsageProblem(f"a message has at most {TOLD_MAX} characters, this one has {len(text)}")
    if len(state.said) >= TOLD_COUNT_MAX:
        raise UsageProblem(f"a run takes at most {TOLD_COUNT_MAX} messages")
    return text.encode("utf-8", "replace").decode().strip()


def _check_open(state: State, name: str, kind: str) -> None:
    question = state.asked.get(name)
    if question is None:
        raise UsageProblem(f"there is no open question {name!r}")
    if question.answer:
        raise UsageProblem(f"question {name!r} is answered already: {question.answer[:200]!r}")
    if not question.can(kind):
        raise UsageProblem(f"question {name!r} is closed: it was {question.status}")


def _body(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):  # A body of a hundred thousand brackets is no message either.
        return {}
    return body if isinstance(body, dict) else {}
