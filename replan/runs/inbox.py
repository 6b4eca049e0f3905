"""What people say to a run: checked against the run as its journal tells it, then posted; the driver checks it again.

Nothing here needs a process that drives the run: the inbox is in the journal, and what is posted is durable.
"""

import json
import secrets
from dataclasses import dataclass
from typing import Any, Literal

from actors.planning.events import PlanningEvent
from actors.planning.state import PlanningState, State
from actors.run.inbox import KINDS, check_decline, check_message, fitting_answer
from actors.run.questions import Status
from actors.run.state import NotStarted
from actors.values.answers import Misfit, fitted, wanted
from replan.setup.command_name import program
from replan.views.result import question_json
from runtime.core.errors import UsageProblem
from runtime.journal.port import Journal, Posted

CLOSED_BY_PEOPLE = (Status.ANSWERED, Status.DECLINED)
"""Where the inbox holds what was said first."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of a word on a question: `accepted`, `duplicate` (the same again) or `conflict` (another one stands).

    `stands` is the answer that counts; None where the question was declined.
    """

    result: Literal["accepted", "duplicate", "conflict"]
    stands: str | None


def open_questions(run: str, state: PlanningState) -> list[dict[str, Any]]:
    """Return the open questions of a run as plain data, the oldest first."""
    if not isinstance(state, State):
        return []
    return [question_json(run, state, question) for question in state.run.questions.values() if question.open]


async def post_answer(journal: Journal[PlanningEvent], state: PlanningState, question: str, text: str) -> Heard:
    """Post an answer to the question `RUN/ID`. Raises `UsageProblem` for one that cannot be taken."""
    run, name = split(question)
    asked = state.run.questions.get(name)
    try:
        if asked is not None and asked.status in CLOSED_BY_PEOPLE:  # The inbox says whether it is the same again.
            answer = fitted(asked.request.answer_schema, text)
        else:
            _check_unfinished(run, state)
            answer = fitting_answer(state.run.questions, name, text)
    except Misfit as problem:
        wish = "some text" if asked is None else wanted(asked.request.answer_schema)
        more = "" if wish in problem.cause else f"; it wants {wish}"
        raise UsageProblem(problem.cause, place=question, hint=f"the question stays open{more}") from None
    except UsageProblem as problem:
        raise _placed(problem, question) from None
    body = {"kind": "answer", "question": name, "answer": answer}
    return _heard(await _post(journal, run, f"answer:{name}", body))


async def post_decline(journal: Journal[PlanningEvent], state: PlanningState, question: str) -> Heard:
    """Post that the question `RUN/ID` will not be answered. Raises `UsageProblem` where that cannot be taken."""
    run, name = split(question)
    asked = state.run.questions.get(name)
    if asked is None or asked.status not in CLOSED_BY_PEOPLE:
        _check_unfinished(run, state)
        try:
            check_decline(state.run.questions, name)
        except UsageProblem as problem:
            raise _placed(problem, question) from None
    return _heard(await _post(journal, run, f"answer:{name}", {"kind": "decline", "question": name}))


async def post_told(journal: Journal[PlanningEvent], state: PlanningState, run: str, text: str, kind: str) -> Posted:
    """Post a note or a requirement. Raises `UsageProblem` for one that cannot be taken."""
    if kind not in KINDS:
        raise UsageProblem(f"there is no kind {kind!r} of message", place="as", hint=" or ".join(KINDS))
    _check_unfinished(run, state)
    try:
        words = check_message(state.run.messages, text)
    except UsageProblem as problem:
        raise UsageProblem(
            problem.cause, place="TEXT", hint="a run takes some text, `-` reads it from a pipe"
        ) from None
    return await _post(journal, run, f"tell:{secrets.token_hex(8)}", {"kind": kind, "text": words})


def split(question: str) -> tuple[str, str]:
    """Return the run and the name in a question's id. Raises `UsageProblem` if it is none."""
    run, slash, name = question.rpartition("/")
    if not (run and slash and name):
        raise UsageProblem(f"{question!r} is not a question's id", hint=f"`{program()} questions` lists them as RUN/ID")
    return run, name


async def _post(journal: Journal[PlanningEvent], run: str, key: str, body: dict[str, Any]) -> Posted:
    return await journal.post(run, key, json.dumps(body))


def _heard(posted: Posted) -> Heard:
    return Heard(posted.result, json.loads(posted.body).get("answer"))


def _check_unfinished(run: str, state: PlanningState) -> None:
    if isinstance(state, NotStarted):
        hint = f"start it again with `{program()} run`"
        raise UsageProblem("the run was admitted, but stopped before anything was recorded", place=run, hint=hint)
    if state.run.finished is not None:
        hint = f"`{program()} show {run}` shows it; a new run takes new requirements"
        raise UsageProblem(f"the run has finished ({state.run.finished.outcome})", place=run, hint=hint)


def _placed(problem: UsageProblem, question: str) -> UsageProblem:
    return UsageProblem(problem.cause, place=question, hint=f"`{program()} questions` lists the open ones")
