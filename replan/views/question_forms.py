"""Forms that answer questions on a page: what is offered, and the answer that a filled form stands for. Pure."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from actors.acquisition.profile import outline_lines, profile_of
from actors.guards.review import APPROVE, REJECT
from actors.guards.review import SCHEMA as REVIEW
from actors.run.open_question import reminder_lines
from actors.run.words import in_words, question_in_words, reason_in_words
from actors.values.answers import AnswerForm, answer_form, expected_answer, options_of
from actors.values.lines import Line

Form = AnswerForm | Literal["review"]
"""The form in which a question is answered on a page."""


def shown_form(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question with its form: `form`, `picks`, `hint`, `reminders`, `version`.

    `picks` says what each choice does, `outline` has the lines of a profile that is to be reviewed. Its texts name
    steps in words, as `question_parts` does.
    """
    schema = question["answer_schema"]
    any_text = question_form(question) == "text" and "description" not in schema
    options = form_choices(question)
    hint = "" if any_text or options else expected_answer(schema)
    does = [question_in_words(choice["does"]) for choice in question["choices"]]
    worded = {name: question_in_words(str(question[name])) for name in ("text", "about", "otherwise")}
    worded["why"] = reason_in_words(question["why"])
    if "node" in question:
        worded["reviewed"] = in_words(question["node"])
    picks = list(zip(options, does, strict=True))
    outline = _outline(str(question.get("artifact", "")))
    form = {"form": question_form(question), "picks": picks, "hint": hint, "outline": outline}
    return {**question, **worded, **form, "reminders": reminder_lines(question), "version": version_of(question)}


def _outline(artifact: str) -> list[Line]:
    """Return what a profile under review says, for people; none for any other artifact."""
    try:
        profile = profile_of(json.loads(artifact))
    except (ValueError, RecursionError):
        return []
    return [] if profile is None else list(outline_lines(profile))


def version_of(question: Mapping[str, Any]) -> str:
    """Return a hash of the question. A form carries it, so that an answer to an outdated question is refused.

    A deadline that has moved does not make a question another one, nor does a reminder.
    """
    asked = {name: value for name, value in question.items() if name not in ("until", "asked_people", "follows")}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def question_form(question: Mapping[str, Any]) -> Form:
    """Return the form in which a question is answered on a page."""
    schema = question["answer_schema"]
    return "review" if schema == REVIEW else answer_form(schema)


def form_choices(question: Mapping[str, Any]) -> list[str]:
    """Return the answers that a form offers beside each other; empty where the answer is typed."""
    match question_form(question):
        case "choice":
            return options_of(question["answer_schema"])
        case "yes_no":
            return ["yes", "no"]
        case "review":
            return [APPROVE, REJECT.removesuffix(":")]
        case _:
            return [choice["value"] for choice in question["choices"]]


def answer_of_form(question: Mapping[str, Any], picked: str, typed: str) -> str:
    """Return the answer of a form: the choice that was picked, or the text; for a rejection the reason is the text.

    Where choices are only offered, a text that was typed counts.
    """
    if question_form(question) == "review" and picked != APPROVE:
        return f"{REJECT} {typed}"
    if question_form(question) in ("choice", "yes_no"):
        return picked
    return typed if typed.strip() or not picked else picked
