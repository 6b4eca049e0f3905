"""How a planning run that a replan has started ended, as the text of a reply. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from actors.plans.reader import read_plan


@dataclass(frozen=True, slots=True)
class NewPlan:
    """The run has brought a plan."""

    text: str
    """The plan as JSON, in the form that the journal keeps."""


@dataclass(frozen=True, slots=True)
class Question:
    """The run would have to ask a person."""

    text: str
    """The question."""
    schema: Mapping[str, Any]
    """The JSON Schema of its answer."""


@dataclass(frozen=True, slots=True)
class NoPlan:
    """The run has brought nothing."""

    why: str
    """The reason, in one line."""


ReplanResult = NewPlan | Question | NoPlan


def text_of(result: ReplanResult) -> str:
    """Return a result as the text of a reply."""
    match result:
        case NewPlan():
            value: dict[str, Any] = {"plan": orjson.loads(result.text)}
        case Question():
            value = {"question": result.text, "schema": dict(result.schema)}
        case NoPlan():
            value = {"why": result.why}
    return orjson.dumps(value).decode()


def read(content: str) -> ReplanResult:
    """Return the result in a reply. Never raises: any other text is no plan."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        return NoPlan("the reply is no JSON object")
    question, schema = value.get("question"), value.get("schema")
    if isinstance(question, str) and isinstance(schema, dict):
        return Question(question, schema)
    if "plan" in value:
        plan, findings = read_plan(value["plan"])
        if plan is None:
            errors = [finding.message for finding in findings if finding.severity == "error"]
            return NoPlan(f"the plan cannot be read: {errors[0]}")
        return NewPlan(orjson.dumps(value["plan"], option=orjson.OPT_SORT_KEYS).decode())
    why = value.get("why")
    return NoPlan(why if isinstance(why, str) and why else "the planning run has ended without a plan")
