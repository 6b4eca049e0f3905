"""Finds the open question that a signed link answers, or says why it cannot be answered."""

from datetime import datetime
from typing import Any, Literal

from starlette.exceptions import HTTPException

from actors.run.questions import WAYS, Question, Status
from actors.run.words import question_in_words
from replan.runs.inbox import questions_of, split
from replan.web.site import Site
from replan.webhooks.answer_links import AnswerLink, check_person
from runtime.core.errors import RunNotFound

UNCHANGED = "Nothing was changed."


async def open_question(site: Site, link: AnswerLink) -> dict[str, Any]:
    """Return the question that a verified link answers, as plain data.

    Raises `LinkRefused` where the link's person may not answer it, and `HTTPException` where the question is not open.
    """
    assert site.answering is not None  # Else nothing verifies a link.
    run, name = split(link.question)
    try:
        common = await site.engine.common_with_inbox(run)
        found = [each for each in await questions_of(site.reader, run) if each["id"] == link.question]
    except RunNotFound:
        raise HTTPException(410, f"The run that asked this question was deleted. {UNCHANGED}") from None
    question = None if common is None else common.questions.get(name)
    people_only = question is not None and question.request.people_only
    asked = () if question is None else question.asked_people
    check_person(site.answering, link, people_only=people_only, asked=asked)
    if not found or question is None or not question.open:
        raise HTTPException(409, f"{closed_because(question)} {UNCHANGED}")
    until = found[0].get("until")
    if until is not None and datetime.fromisoformat(until).timestamp() <= site.now():
        raise HTTPException(409, f"The time for an answer is over. {UNCHANGED}")
    return found[0]


def closed_because(question: Question | None) -> str:
    """Return why a question is not open any more, in sentences."""
    if question is None or question.status in (Status.WITHDRAWN, Status.ASKED):
        return "Nobody needs an answer to this question any more."
    if question.status is Status.EXPIRED:
        return f"This question has expired. {question_in_words(question.request.otherwise)}"
    done: Literal["answered", "declined"] = "declined" if question.status is Status.DECLINED else "answered"
    by = f" by {question.person}" if question.person else ""
    return f"This question was {done}{by}{WAYS[question.via]}."
