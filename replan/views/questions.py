"""Open questions as plain data and as text: the question, its possible answers, and the artifact under review. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from actors.run.open_question import decode_questions, question_parts
from actors.values.answers import TEXT, answer_form, describe_expected

if TYPE_CHECKING:
    from actors.run.kind import Kind



def asked_by(kind: "Kind[Any, Any]", state: Any) -> list[dict[str, Any]]:
    """Return the open questions of a run as plain data, the oldest first, in the form of its status row."""
    return decode_questions(kind.machine.summary(state).asks)


def question_rows(question: Mapping[str, Any]) -> list[str]:
    """Return the lines that a list of questions shows."""
    (first, _), *rest = question_parts(question)
    return [f"- {first}", *(f"  {text}" for text, _ in rest)]


_SAME = ("text", "about", "shown", "choices", "otherwise", "answer_schema", "artifact", "people_only")
"""The keys of a question that must be equal to group it: all texts, and the accepted answers."""


def group_equal(questions: Iterable[Q]) -> list[list[Q]]:
    """Return open questions in groups with equal texts and accepted answers, in their order."""
    groups: dict[str, list[Q]] = {}
    for question in questions:
        key = json.dumps([question.get(name) for name in _SAME], sort_keys=True)
        groups.setdefault(key, []).append(question)
    return list(groups.values())


def choices(question: Mapping[str, Any]) -> list[str]:
    """Return the choices that can be picked by number; empty if the answer must be typed."""
    picks = answer_form(question["answer_schema"]) == "choice" or question["answer_schema"] == TEXT
    return [choice["value"] for choice in question["choices"]] if picks else []


def hint(question: Mapping[str, Any]) -> str:
    """Return the line that tells the user what to type."""
    schema = question["answer_schema"]
    match answer_form(schema):
        case "choice":
            return "The number of a choice, or its text"
        case "yes_no":
            return "y or n"
        case "text" if choices(question):
            return "The number of a choice, or your own words"
        case "text" if schema == TEXT:
            return "One line, or several pasted"
        case _:
            return describe_expected(schema)[:1].upper() + describe_expected(schema)[1:]


def pick_answer(question: Mapping[str, Any], typed: str) -> str:
    """Return the typed answer, or the choice with the typed number."""
    options = choices(question)
    if typed.isascii() and typed.isdigit() and typed not in options and 1 <= int(typed[:4]) <= len(options):
        return options[int(typed) - 1] if len(typed) <= 4 else typed
    return typed
