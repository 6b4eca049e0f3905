"""Answers of the user about fields: the schema of the question, and the value that an answer gives. Pure."""

import re
from typing import Any

from actors.acquisition.profile import FieldSpec
from actors.acquisition.schema import Schema
from actors.acquisition.values import FieldValue, Via
from actors.quantities.currencies import CODES
from actors.quantities.quantity import Quantity, Refusal
from actors.quantities.unit_forms import without_counted
from actors.values.answers import QUANTITY, choice, read_quantity

TEXT_MAX = 500
"""Characters of the value of a text field."""
_CURRENCY = re.compile(r"[A-Za-z]{3}")


def answer_schema(schema: Schema, path: str) -> dict[str, Any]:
    """Return the JSON Schema of an answer about a field, with a description of what is expected."""
    spec = schema.fields[path]
    match spec.type:
        case "choice":
            return choice(list(spec.choices))
        case "currency":
            described = "the three letters of a currency, such as EUR"
            return {"type": "string", "pattern": r"^\s*[A-Za-z]{3}\s*$", "description": described}
        case "text":
            return {"type": "string", "minLength": 1, "maxLength": TEXT_MAX}
        case "number":
            return _number_schema(schema, path, spec)


def _number_schema(schema: Schema, path: str, spec: FieldSpec) -> dict[str, Any]:
    unit, units = schema.unit(path) or "", dict(schema.profile.units)
    found: dict[str, Any] = {"type": "string", "format": QUANTITY, "unit": unit}
    short = without_counted(unit, units)
    if short != unit:
        found["short_unit"] = short
    if units:
        found["units"] = units
    bounds = {"minimum": spec.minimum, "maximum": spec.maximum}
    return found | {name: bound for name, bound in bounds.items() if bound is not None}


def answer_value(schema: Schema, path: str, answer: str, *, source: str, via: Via = "user") -> FieldValue | str:
    """Return the value that a person's text gives a field, or why it gives none."""
    spec = schema.fields[path]
    if spec.type == "number":
        unit = schema.unit(path)
        if unit is None:
            return f"the unit of {path} is not known yet"
        read = read_quantity(_number_schema(schema, path, spec), answer)
        if isinstance(read, Refusal):
            return read.message
        return number_value(read, via=via, source=source, quote=answer.strip())
    text = " ".join(answer.split())
    problem = _text_problem(spec, text)
    if problem:
        return problem
    if spec.type == "currency":
        text = text.upper()
    return FieldValue(value=text, via=via, source=source, quote=text)


def _text_problem(spec: FieldSpec, text: str) -> str:
    if not text or len(text) > TEXT_MAX:
        return f"a text of 1 to {TEXT_MAX} characters is expected"
    if spec.type == "currency" and not (_CURRENCY.fullmatch(text) and text.upper() in CODES):
        return f"{text!r} is no currency; give three letters, such as EUR"
    if spec.type == "choice" and text not in spec.choices:
        return f"{text!r} is none of {', '.join(spec.choices)}"
    return ""


def number_value(read: Quantity, *, via: Via, source: str, quote: str, confidence: float = 1.0) -> FieldValue:
    """Return the value of a quantity: the middle of its range."""
    middle = read.low if read.exact else (read.low + read.high) / 2
    low, high = (None, None) if read.exact else (read.low, read.high)
    return FieldValue(
        value=middle, low=low, high=high, unit=read.unit, via=via, source=source, quote=quote, confidence=confidence
    )


def out_of_bounds(spec: FieldSpec, read: Quantity) -> str:
    """Return why a quantity is outside of the bounds of its field; empty where it is not."""
    if spec.minimum is not None and read.low < spec.minimum:
        return f"{read.text} is below {spec.minimum:g} {read.unit}".rstrip()
    if spec.maximum is not None and read.high > spec.maximum:
        return f"{read.text} is above {spec.maximum:g} {read.unit}".rstrip()
    return ""
