"""Answers to questions: the forms that a JSON Schema allows, and the validation of a person's text. Pure.

The schema of a question comes from guards and artifacts, so it is restricted: at most `SCHEMA_BYTES_MAX` as JSON, and
no references. An answer is stored as text. `normal_answer` normalises it, so that equal answers are equal texts.
"""

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, Literal, assert_never

from runtime.core.entry_points import PluginGroup
from runtime.core.errors import UsageProblem

AnswerForm = Literal["text", "choice", "yes_no", "number", "formatted", "json"]
"""The forms of answers, which decide how a question is shown."""
Schema = Mapping[str, Any]

TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
YES_NO: dict[str, Any] = {"type": "boolean"}
NUMBER: dict[str, Any] = {"type": "number"}
ANSWER_FORMATS = PluginGroup(
    "replan.answers",
    "an object with describe(schema) and problem(schema, answer)",
    lambda value: all(callable(getattr(value, name, None)) for name in ("describe", "problem")),
)
"""The formats of answers that installed distributions check. The key `format` of a question's schema names the format.
`describe` returns a description of a valid answer, in a few words. `problem` returns the reason why an answer is not
valid, or an empty text if the answer is valid.
"""

ANSWER_MAX = 100_000
SCHEMA_BYTES_MAX = 10_000
"""The largest number of bytes in a question's schema as JSON: enough for several hundred choices."""
SHOWN_MAX = 300
"""An error message quotes at most this number of characters of an answer, or of a checker's text."""

_YES_NO_WORDS = {"yes": "yes", "y": "yes", "true": "yes", "no": "no", "n": "no", "false": "no"}


class InvalidAnswer(UsageProblem):
    """An answer does not fit the schema of its question. The cause says why."""


def choice(options: Collection[str]) -> dict[str, Any]:
    """Return the JSON Schema of a text that must be one of these texts."""
    return {"type": "string", "enum": list(options)}


def closed_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object that must have all of these keys and no others.

    Structured output allows no optional keys.
    """
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a list of objects that must have all of these keys and no others."""
    return {"type": "array", "items": closed_schema(properties)}


def is_answer_schema(schema: Schema) -> bool:
    """Return whether a schema can be used for answers: it must be valid and small, and have no references."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - slow to import, and rarely needed

    try:
        text = json.dumps(schema, allow_nan=False)
        Draft202012Validator.check_schema(schema)
    except (SchemaError, ValueError, TypeError, RecursionError):
        return False
    return len(text.encode()) <= SCHEMA_BYTES_MAX and '"$ref"' not in text and '"$dynamicRef"' not in text


def answer_form(schema: Schema) -> AnswerForm:
    """Return the form of the answers that a schema allows."""
    if isinstance(schema.get("enum"), list):
        return "choice"
    match schema.get("type"):
        case "boolean":
            return "yes_no"
        case "number" | "integer":
            return "number"
        case "string":
            format = schema.get("format")
            return "formatted" if isinstance(format, str) and ANSWER_FORMATS.find(format) else "text"
        case _:
            return "json"


def options_of(schema: Schema) -> list[str]:
    """Return the choices of a schema as the texts that a person may answer."""
    return [_normal_text(option) for option in schema["enum"]]


def describe_expected(schema: Schema) -> str:
    """Return a description of a valid answer, in a few words."""
    if "description" in schema:
        return str(schema["description"])
    form = answer_form(schema)
    match form:
        case "choice":
            return f"one of: {', '.join(options_of(schema))}"
        case "yes_no":
            return "yes or no"
        case "number":
            return "a whole number" if schema.get("type") == "integer" else "a number"
        case "text":
            return "some text"
        case "formatted":
            return str(_checker_of(schema).describe(schema))
        case "json":
            return "a JSON value that fits the question's schema"
        case _:
            assert_never(form)


def normal_answer(schema: Schema, text: object) -> str:
    """Check an answer, and return its normal form. Answers with the same value have the same normal form.

    Raises:
        InvalidAnswer: the answer is empty, is longer than `ANSWER_MAX` characters, or does not fit the schema.
    """
    if not isinstance(text, str):
        raise InvalidAnswer("an answer must be a string")
    if len(text) > ANSWER_MAX:
        raise InvalidAnswer(f"an answer may have at most {ANSWER_MAX} characters, and this answer has {len(text)}")
    answer = text.encode("utf-8", "replace").decode().strip()  # A lone surrogate cannot be stored: it has no UTF-8.
    if not answer:
        raise InvalidAnswer("an answer must not be empty")
    value = _json_value(schema, answer)
    if schema != TEXT:
        _check(schema, value)
    return _normal_text(value)


def _json_value(schema: Schema, answer: str) -> Any:
    form = answer_form(schema)
    match form:
        case "text":
            return answer
        case "formatted":
            return _formatted(schema, answer)
        case "choice":
            exact = [option for option in schema["enum"] if _normal_text(option) == answer]
            folded = [option for option in schema["enum"] if _normal_text(option).casefold() == answer.casefold()]
            return (exact or folded or [answer])[0]
        case "yes_no":
            return {"yes": True, "no": False}.get(_YES_NO_WORDS.get(answer.casefold(), ""), answer)
        case "number":
            return _number(answer)
        case "json":
            return _json(answer)
        case _:
            assert_never(form)


def _checker_of(schema: Schema) -> Any:
    checker = ANSWER_FORMATS.get(schema["format"])
    assert checker is not None, "`answer_form` has found it"
    return checker


def _formatted(schema: Schema, answer: str) -> str:
    if problem := _checker_of(schema).problem(schema, answer):
        raise InvalidAnswer(f"the answer should be {describe_expected(schema)}: {str(problem)[:SHOWN_MAX]}")
    return answer


def _number(answer: str) -> Any:
    try:
        number = float(answer)
    except ValueError:
        return answer
    if not math.isfinite(number):
        return answer
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _json(answer: str) -> Any:
    try:
        return json.loads(answer, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise InvalidAnswer("the answer is not JSON") from None


def _refuse(name: str) -> None:
    raise ValueError(name)


def _check(schema: Schema, value: Any) -> None:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - as above
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    try:
        error = best_match(Draft202012Validator(schema).iter_errors(value))
    except RecursionError:
        raise InvalidAnswer("the answer is nested too deeply") from None
    if error is None:
        return
    if answer_form(schema) == "json":
        path = "".join(f"[{part!r}]" for part in error.absolute_path)
        raise InvalidAnswer(f"the answer does not fit{f' at {path}' if path else ''}: {error.message[:SHOWN_MAX]}")
    raise InvalidAnswer(f"the answer should be {describe_expected(schema)}, not {str(value)[:SHOWN_MAX]!r}")


def _normal_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
