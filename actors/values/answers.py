"""What an answer may be: the kinds of question by their JSON Schema, and reading a person's text against it. Pure.

A question's schema is data from guards and artifacts, so it is limited: at most `SCHEMA_BYTES_MAX` as JSON, and without
references. An answer stays text all the way; `fitted` gives it one spelling, so that the same answer is the same text.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Literal, assert_never

from runtime.core.errors import UsageProblem

Kind = Literal["text", "choice", "yes_no", "number", "json"]
Schema = Mapping[str, Any]

TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
YES_NO: dict[str, Any] = {"type": "boolean"}
NUMBER: dict[str, Any] = {"type": "number"}

ANSWER_MAX = 100_000
"""Characters of an answer; longer material belongs into a new run's problem."""
SCHEMA_BYTES_MAX = 10_000
"""Bytes of a question's schema as JSON: several hundred choices."""
SHOWN_MAX = 300
"""Characters of a reason that quotes an answer."""

_YES = {"yes": "yes", "y": "yes", "true": "yes", "no": "no", "n": "no", "false": "no"}


class Misfit(UsageProblem):
    """An answer that is not what its question asks for; the cause says why."""


def choice(options: list[str]) -> dict[str, Any]:
    """Return the schema of a choice among texts."""
    return {"type": "string", "enum": options}


def sound(schema: Schema) -> bool:
    """Tell whether answers can be checked against a schema: small, without references, and a JSON Schema."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - slow to import, and rarely needed

    try:
        text = json.dumps(schema, allow_nan=False)
        Draft202012Validator.check_schema(schema)
    except (SchemaError, ValueError, TypeError, RecursionError):
        return False
    return len(text.encode()) <= SCHEMA_BYTES_MAX and '"$ref"' not in text and '"$dynamicRef"' not in text


def kind_of(schema: Schema) -> Kind:
    """Return how a person is best asked: the kind of answer that a schema wants."""
    if isinstance(schema.get("enum"), list):
        return "choice"
    match schema.get("type"):
        case "boolean":
            return "yes_no"
        case "number" | "integer":
            return "number"
        case "string":
            return "text"
        case _:
            return "json"


def options_of(schema: Schema) -> list[str]:
    """Return the choices of a schema as the texts that are answered with."""
    return [_spelled(option) for option in schema["enum"]]


def wanted(schema: Schema) -> str:
    """Return what an answer should be, in a few words."""
    if "description" in schema:
        return str(schema["description"])
    kind = kind_of(schema)
    match kind:
        case "choice":
            return f"one of: {', '.join(options_of(schema))}"
        case "yes_no":
            return "yes or no"
        case "number":
            return "a whole number" if schema.get("type") == "integer" else "a number"
        case "text":
            return "some text"
        case "json":
            return "a JSON value that fits the question's schema"
        case _:
            assert_never(kind)


def fitted(schema: Schema, text: object) -> str:
    """Return an answer in its one spelling: fitting it again changes nothing.

    Raises `Misfit` for an answer that is empty, longer than `ANSWER_MAX` characters, or not what the schema asks for.
    """
    if not isinstance(text, str):
        raise Misfit("an answer is some text")
    if len(text) > ANSWER_MAX:
        raise Misfit(f"an answer has at most {ANSWER_MAX} characters, this one has {len(text)}")
    said = text.encode("utf-8", "replace").decode().strip()  # A lone surrogate has no UTF-8, and could not be written.
    if not said:
        raise Misfit("an answer is some text")
    value = _value(schema, said)
    if schema != TEXT:
        _check(schema, value)
    return _spelled(value)


def _value(schema: Schema, said: str) -> Any:
    kind = kind_of(schema)
    match kind:
        case "text":
            return said
        case "choice":
            same = [one for one in schema["enum"] if _spelled(one) == said]
            return (same or [one for one in schema["enum"] if _spelled(one).casefold() == said.casefold()] or [said])[0]
        case "yes_no":
            return {"yes": True, "no": False}.get(_YES.get(said.casefold(), ""), said)
        case "number":
            return _number(said)
        case "json":
            return _json(said)
        case _:
            assert_never(kind)


def _number(said: str) -> Any:
    try:
        number = float(said)
    except ValueError:
        return said
    if not math.isfinite(number):
        return said
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _json(said: str) -> Any:
    try:
        return json.loads(said, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Misfit("the answer is not JSON") from None


def _refuse(name: str) -> None:
    raise ValueError(name)


def _check(schema: Schema, value: Any) -> None:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - as above
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    try:
        error = best_match(Draft202012Validator(schema).iter_errors(value))
    except RecursionError:
        raise Misfit("the answer is nested too deeply") from None
    if error is None:
        return
    if kind_of(schema) == "json":
        place = "".join(f"[{part!r}]" for part in error.absolute_path)
        raise Misfit(f"the answer does not fit{f' at {place}' if place else ''}: {error.message[:SHOWN_MAX]}")
    raise Misfit(f"the answer should be {wanted(schema)}, not {str(value)[:SHOWN_MAX]!r}")


def _spelled(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
