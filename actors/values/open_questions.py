"""Reads the open questions of an artifact: texts, `{"question", "choices"}` or `{"question", "type"}`."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from actors.values.answers import NUMBER, TEXT, YES_NO, choice, list_of
from actors.values.findings import Code, Finding

KINDS: Mapping[str, Mapping[str, Any]] = {
    "text": TEXT,
    "number": NUMBER,
    "integer": {"type": "integer"},
    "yes_no": YES_NO,
    "boolean": YES_NO,
}
"""The answer schema for each value of a question's `type`."""
CHOICES_MAX = 50
CHOICE_LENGTH_MAX = 200
QUESTIONS_MAX = 1_000

QUESTIONS_SCHEMA = list_of(
    {
        "question": {"type": "string"},
        "type": choice(["text", "yes_no", "number", "integer", "choice"]),
        "choices": {"type": "array", "items": {"type": "string"}},
    }
)
"""The JSON Schema of `open_questions` in requests to a model. All keys are required. A question without choices has an
empty list `choices`."""


NOT_UNDERSTOOD = "not_understood"
"""The name of the field in which a model says that it does not understand the problem, and why."""


def find_misunderstandings(value: Any) -> Iterator[Finding]:
    """Yield a finding if the field `not_understood` of a JSON value has a text. Never raises.

    In this field, a model says that it does not understand the problem, and why. The finding is a warning if the value
    also has open questions, because an answer may help. Otherwise the finding is an error.
    """
    why = value.get(NOT_UNDERSTOOD) if isinstance(value, Mapping) else None
    if isinstance(why, str) and why.strip():
        severity: Literal["error", "warning"] = "warning" if value.get("open_questions") else "error"
        yield Finding(code=Code.NOT_UNDERSTOOD, message=why, where=NOT_UNDERSTOOD, severity=severity)


def questions_of(questions: Any) -> Iterator[Finding]:
    """Yield an error for each item of an artifact's `open_questions`, whether or not the item is a valid question.

    The policy decides whether the user is asked. The answer schema of a question is made from its choices or its type,
    because a schema that a model wrote is never used.
    """
    if not isinstance(questions, list):
        yield Finding(code=Code.TYPE, message="open_questions must be a list", where="open_questions")
        return
    if len(questions) > QUESTIONS_MAX:
        message = f"open_questions has {len(questions):,} items; at most {QUESTIONS_MAX:,} are allowed"
        yield Finding(code=Code.TOO_LARGE, message=message, where="open_questions")
        return
    for index, value in enumerate(questions):
        where = f"open_questions[{index}]"
        text = value.get("question") if isinstance(value, dict) else value
        schema = _answer_schema(value) if isinstance(value, dict) else None
        if not isinstance(text, str):
            message = f"{where} must be a text, or an object with a text as its question"
            yield Finding(code=Code.TYPE, message=message, where=where)
        elif not text.strip():
            yield Finding(code=Code.EMPTY, message=f"{where} must not be empty", where=where)
        elif isinstance(value, dict) and schema is None:
            message = f"{where} must have 2 to {CHOICES_MAX} short choices, or one of the types {', '.join(KINDS)}"
            yield Finding(code=Code.CHOICE, message=message, where=where)
        else:
            yield Finding(code=Code.OPEN_QUESTION, message=text, where=where, answer_schema=schema)


def _answer_schema(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choices, kind = value.get("choices"), value.get("type", "text")
    if choices is None or choices == []:
        return KINDS.get(kind) if isinstance(kind, str) else None
    if not isinstance(choices, list) or not 2 <= len(choices) <= CHOICES_MAX:
        return None
    if not all(
        isinstance(text, str) and text and text.strip() == text and len(text) <= CHOICE_LENGTH_MAX for text in choices
    ):
        return None
    return choice(list(dict.fromkeys(choices)))
