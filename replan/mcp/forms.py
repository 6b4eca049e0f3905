"""Questions as forms of MCP: the schema of one field, and the answer that a filled form stands for. Pure."""

import json
from collections.abc import Mapping
from typing import Any, assert_never

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult

from actors.run.question_text import question_parts
from actors.values.answers import ANSWER_MAX, expected_answer, kind_of, options_of
from runtime.core.errors import UsageProblem
from runtime.logs.terminal_text import clean

FIELD = "answer"
"""The name of the one field."""
TEXT_MAX = 4_000
"""Characters of a question that a form shows; the tool `questions` has all of it."""


def is_shown(question: Mapping[str, Any]) -> bool:
    """Tell whether a question may be asked in a form: programs may answer it, and its answer is one plain value."""
    return not question.get("people_only") and kind_of(question["answer_schema"]) != "json"


def message_of(question: Mapping[str, Any], trouble: str = "") -> str:
    """Return what a form says above its field."""
    text = clean("\n".join(part for part, _ in question_parts(question)))
    shown = text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"
    about = f"Asked by the run {question['run_id']}. To decline means that there will be no answer."
    return "\n\n".join(filter(None, (f"That answer does not fit: {trouble}" if trouble else "", shown, about)))


def schema_of(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the form that asks a question."""
    schema = question["answer_schema"]
    kind = kind_of(schema)
    field: dict[str, Any] = {"title": "Answer"}
    match kind:
        case "choice":
            field |= {"type": "string", "enum": options_of(schema)}
        case "yes_no":
            field |= {"type": "boolean"}
        case "number":
            field |= {"type": "integer" if schema.get("type") == "integer" else "number"}
        case "text" | "quantity" | "json":
            field |= {"type": "string", "maxLength": ANSWER_MAX, "description": clean(expected_answer(schema))}
        case _:
            assert_never(kind)
    return {"type": "object", "properties": {FIELD: field}, "required": [FIELD]}


def form_of(question: Mapping[str, Any], trouble: str = "") -> ElicitRequest:
    """Return the request that shows a form to the client's user."""
    params = ElicitRequestFormParams(message=message_of(question, trouble), requested_schema=schema_of(question))
    return ElicitRequest(params=params)


def answer_of(filled: ElicitResult) -> str | None:
    """Return the answer of a form that was sent, as text; None for one that was declined. Raises `UsageProblem`."""
    if filled.action == "decline":
        return None
    value = (filled.content or {}).get(FIELD)
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return json.dumps(value)
        case _:
            raise UsageProblem("the form holds no answer", place=FIELD)
