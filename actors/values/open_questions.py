"""What an artifact asks: texts, or `{"question", "choices"}` and `{"question", "type"}`. Data only, of limited size."""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.values.answers import NUMBER, TEXT, YES_NO, choice
from actors.values.findings import Code, Finding

KINDS: Mapping[str, Mapping[str, Any]] = {
    "text": TEXT,
    "number": NUMBER,
    "integer": {"type": "integer"},
    "yes_no": YES_NO,
    "boolean": YES_NO,
}
"""What a question may give as its `type`."""
CHOICES_MAX = 50
CHOICE_LENGTH_MAX = 200

_QUESTION: dict[str, Any] = {
    "question": {"type": "string"},
    "type": {"type": "string", "enum": ["text", "yes_no", "number", "integer", "choice"]},
    "choices": {"type": "array", "items": {"type": "string"}},
}
QUESTIONS_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": _QUESTION,
        "required": list(_QUESTION),
        "additionalProperties": False,
    },
}
"""What a model is asked for under `open_questions`. Every key is required, so without choices `choices` is empty."""


def questions_of(asked: Any) -> Iterator[Finding]:
    """Yield a finding for each question, an error, so that the policy decides whether to ask it; and each that is none.

    The answer schema of a question is made from its choices or its type; none is taken from the artifact itself.
    """
    if not isinstance(asked, list):
        yield Finding(code=Code.TYPE, message="open_questions must be a list", where="open_questions")
        return
    for place, value in enumerate(asked):
        where = f"open_questions[{place}]"
        said = value.get("question") if isinstance(value, dict) else value
        schema = _schema(value) if isinstance(value, dict) else None
        if not isinstance(said, str):
            message = f"{where} must be a text, or an object with a text as its question"
            yield Finding(code=Code.TYPE, message=message, where=where)
        elif not said.strip():
            yield Finding(code=Code.EMPTY, message=f"{where} must not be empty", where=where)
        elif isinstance(value, dict) and schema is None:
            message = f"{where} must have 2 to {CHOICES_MAX} short choices, or one of the types {', '.join(KINDS)}"
            yield Finding(code=Code.CHOICE, message=message, where=where)
        else:
            yield Finding(code=Code.OPEN_QUESTION, message=said, where=where, answer_schema=schema)


def _schema(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema that a question's `choices` or `type` mean, or None for what means nothing."""
    choices, kind = value.get("choices"), value.get("type", "text")
    if choices is None or choices == []:
        return KINDS.get(kind) if isinstance(kind, str) else None
    if not isinstance(choices, list) or not 2 <= len(choices) <= CHOICES_MAX:
        return None
    if not all(
        isinstance(one, str) and one and one.strip() == one and len(one) <= CHOICE_LENGTH_MAX for one in choices
    ):
        return None
    return choice(list(dict.fromkeys(choices)))
