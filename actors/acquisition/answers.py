"""The questions of an acquisition about the values of fields, and the values that answers and corrections give. Pure.

A correction is a value that a person tells a run of their own accord, `FIELD=VALUE`, also after its end. Its message is
`{"kind": "value", "field": PATH, "text": TEXT}`. Whoever posts it makes the same check.
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actors.acquisition.events import ValueTold
from actors.acquisition.field_question import field_question
from actors.acquisition.gate_policy import BLOCKED
from actors.acquisition.planner_state import PlannerDecision
from actors.acquisition.profile import FieldSpec
from actors.acquisition.schema import SLOT, Schema, schema_of
from actors.acquisition.state import State
from actors.acquisition.values import FieldValue, Via
from actors.files.suggestions import nearest
from actors.quantities.currencies import CODES
from actors.quantities.quantity import Quantity, Refusal
from actors.quantities.unit_forms import drop_counted_units
from actors.run.ending import Outcome
from actors.run.inbox import MailRefused
from actors.values.answers import QUANTITY, answer_form, choice, options_of, read_quantity
from actors.values.question_form import AskedForm, Inquiry, in_words_of, inquiry, one_line, with_frame
from runtime.core.errors import UsageProblem
from runtime.core.events import storable

if TYPE_CHECKING:
    from runtime.core.messages import Mailed


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
    short = drop_counted_units(unit, units)
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
    """Return why a quantity is outside of the bounds of its field; empty if it is within them."""
    if spec.minimum is not None and read.low < spec.minimum:
        return f"{read.text} is below {spec.minimum:g} {read.unit}".rstrip()
    if spec.maximum is not None and read.high > spec.maximum:
        return f"{read.text} is above {spec.maximum:g} {read.unit}".rstrip()
    return ""


def acquisition_question(schema: Schema, decision: PlannerDecision) -> AskedForm:
    """Return the question that a decision asks, in the form that people see."""
    path = decision.target_field
    return with_frame(
        _inquiry(schema, decision),
        about=_about(schema, path),
        otherwise=_otherwise(schema, path),
        priority="normal" if schema.fields[path].default is None else "low",
    )


def _inquiry(schema: Schema, decision: PlannerDecision) -> Inquiry:
    """Return the program's question, or the words of the model or the profile in the program's frame."""
    path = decision.target_field
    blocked, asked = _parts(decision.question)
    own, wanted = field_question(schema, path), answer_schema(schema, path)
    subject = f"the value '{one_line(schema.fields[path].label, 200)}'"
    options = options_of(wanted) if answer_form(wanted) == "choice" else ()
    meanings = {value: f"The value is {value}." for value in options}
    of_model = bool(asked) and asked != own
    if of_model or not own.endswith("?"):
        who, words = ("The model", asked) if of_model else ("The profile", own)
        return in_words_of(who, subject, words, does=_TAKEN, schema=wanted, meanings=meanings, above=blocked)
    return inquiry(own, shown=blocked, choices=meanings or None, schema=wanted)


def _parts(question: str) -> tuple[str, str]:
    """Return what blocks the calculation, as far as a decision's question says it, and the question."""
    if not question.startswith(BLOCKED):
        return "", question.strip()
    blocked, _, asked = question.partition("\n")
    return blocked, asked.strip()


_TAKEN = "The value is taken as answered."


def _about(schema: Schema, path: str) -> str:
    """Return which value is asked for, and what depends on it."""
    spec = schema.fields[path]
    label = f"It is about the value '{one_line(spec.label, 200)}' ({path})"
    if path in schema.profile.bootstrap:
        return f"{label}, which all searches need first."
    needs = _results(schema, path)
    if needs:
        more = f" and {len(needs) - 3} more" if len(needs) > 3 else ""
        return f"{label}. The result depends on it: {', '.join(needs[:3])}{more}."
    return f"{label}, which is a part of the result."


def _results(schema: Schema, path: str) -> list[str]:
    calculator = schema.profile.calculator
    if calculator is None:
        return []
    return [one_line(result.label, 100) for result in calculator.results.values() if path in result.formula]


def _otherwise(schema: Schema, path: str) -> str:
    spec: FieldSpec = schema.fields[path]
    if spec.default is not None:
        return f"its default {spec.default} is assumed."
    if path in schema.profile.bootstrap:
        return "the run ends incomplete, since nothing can be searched for."
    if spec.required:
        return "the value stays open, and the run ends incomplete."
    return "the value stays open, and the run goes on."


VALUE = "value"
"""The kind of the message."""
TOLD = "told by the user"
"""The source of a value that was told."""
_CORRECTION = re.compile(r"(?P<field>[a-z][a-z0-9_]*(?:\.[a-z0-9_]+){0,4})[ \t]*=[ \t]*(?P<text>[^\n]{1,500})")


def correction(state: State, text: str) -> Mapping[str, Any] | None:
    """Return the message that a text `FIELD=VALUE` is; None for another text. Raises `UsageProblem` with the reason."""
    match = _CORRECTION.fullmatch(text.strip())
    if match is None:
        return None
    body = {"kind": VALUE, "field": match["field"], "text": match["text"]}
    read_told_value(state, match["field"], match["text"])
    return body


def read_told_value(state: State, path: str, text: str) -> FieldValue:
    """Return the value that a text gives a field of a run. Raises `UsageProblem` where it gives none."""
    end = state.run.finished
    if end is not None and end.outcome in (Outcome.CANCELLED, Outcome.FAILED):
        raise UsageProblem(f"the run has finished ({end.outcome})", place=path, hint="start a new run with --set")
    schema = schema_of(state)
    if path not in schema.fields:
        hint = nearest(path, schema.fields, kind="fields")
        raise UsageProblem(f"{path!r} is no field of the profile {schema.profile.name}", place=path, hint=hint)
    asked = next(
        (name for name, question in state.run.questions.items() if question.open and path in question.request.blocks),
        "",
    )
    if asked:
        raise UsageProblem(f"question {asked} asks for {path}", place=path, hint="answer it")
    if _units_depend_on(schema, path):
        cause = f"the units of other values depend on {path}"
        raise UsageProblem(cause, place=path, hint=f"start a new run with --set {path}=...")
    value = answer_value(schema, path, text, source=TOLD)
    if isinstance(value, FieldValue):
        return value
    unit = schema.unit(path)
    raise UsageProblem(f"{path}: {value}", place=path, hint=f"give it in {unit}" if unit else "")


def _units_depend_on(schema: Schema, path: str) -> bool:
    """Tell whether values are there whose units name a field; the first value of that field changes none."""
    if schema.value(path) is None:
        return False
    return any(
        path in SLOT.findall(spec.unit) and schema.planner.values.get(name) for name, spec in schema.fields.items()
    )


def accept_correction(state: State, message: "Mailed") -> ValueTold | MailRefused | None:
    """Return the fact that a message with a value is; None for another message."""
    try:
        body = json.loads(message.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or body.get("kind") != VALUE:
        return None
    path, text = str(body.get("field", "")), str(body.get("text", ""))
    try:
        value = read_told_value(state, path, text)
    except UsageProblem as problem:
        return MailRefused(at=message.at, mono=message.mono, key=storable(message.key), reason=problem.cause)
    return ValueTold(at=message.at, mono=message.mono, path=path, value=value)
