"""The questions of an acquisition about its fields, and the values that answers and corrections state. Pure.

If a field has no question of its own, this module makes a question from the field's label. A label is English: a noun
phrase (`requests per month`), an indirect question (`whether the roof is flat`), a question, or a name (`win_rate`).

A correction is a value that a person gives to a run without being asked, as `FIELD=VALUE`. A finished run accepts
corrections too. The message of a correction is a JSON object with the keys `kind` (always `value`), `field` (a path)
and `text`. The program that posts the message first makes the same checks as the run that receives it.
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actors.demands.verbs import word_set
from actors.files.suggestions import nearest
from actors.run.ending import Outcome
from actors.run.inbox import MailRefused
from actors.values.answers import answer_form, choice, options_of
from actors.values.question_form import AskedForm, Inquiry, add_consequences, inquiry, one_line, quote_question
from replan_acquire.acquisition.events import ValueTold
from replan_acquire.acquisition.planner_state import PlannerDecision
from replan_acquire.acquisition.profile import FieldSpec
from replan_acquire.acquisition.schema import SLOT, Schema, schema_of
from replan_acquire.acquisition.state import State
from replan_acquire.acquisition.values import FieldValue, Via
from replan_acquire.quantities.answer_format import QUANTITY, read_quantity
from replan_acquire.quantities.quantity import Quantity, Refusal
from replan_acquire.quantities.unit_forms import drop_counted_units
from replan_acquire.quantities.units import CODES
from runtime.core.errors import UsageProblem
from runtime.core.events import make_storable

if TYPE_CHECKING:
    from runtime.core.messages import Mailed


LABEL_MAX = 300

_PHRASE = re.compile(r"[^\W\d_][\w '\u2019(),.%/&+-]*")
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:['\u2019-][^\W_]+)*")
_INDIRECT = ("whether", "how", "which", "what", "when", "where", "who", "why")
_DETERMINERS = word_set("the a an this that these those my your our their his her its all each every any some no")
_BEHIND_HEAD = word_set(
    "of per for in on at to from by with without as than above below over under between among within during after",
    "before since until into and or that which who whose where when is are",
)
_PARTICIPLES = word_set("sent built sold made paid spent lost held kept used left taken given known driven won")
_MEASURED = word_set(
    "data traffic energy power electricity water heat money work revenue income storage memory waste fuel food space",
    "equipment software hardware rain snow steel concrete",
)
_SINGULARS = word_set("gas lens series species news canvas atlas bias chaos mathematics physics economics")
_PLURALS = word_set("people children men women criteria media feet teeth mice")


def field_question(schema: Schema, path: str) -> str:
    """Return the question about a field: its own question, or a question made from its label."""
    spec = schema.fields[path]
    return one_line(schema.fill_slots(spec.question)) or make_label_question(spec, counted=_is_counted(schema, path))


def make_label_question(spec: FieldSpec, *, counted: bool = True) -> str:
    """Make a question from a field's label. `counted` tells whether the field's number counts things."""
    label = one_line(spec.label, LABEL_MAX).rstrip(" .:")
    first = label.split(" ", 1)[0].casefold()
    if label.endswith("?"):
        return label
    if first in _INDIRECT:
        return f"Can you say {label[:1].lower()}{label[1:]}?"
    if not _PHRASE.fullmatch(label) or not label.isascii() or "_" in label:
        return f"What is the value of '{label}'?"
    known = first in _DETERMINERS or first.endswith(("'s", "s'"))
    named = label if known else f"the {label}"
    if spec.type == "choice" and {choice.casefold() for choice in spec.choices} == {"yes", "no"}:
        return f"Is '{label}' true?"
    if spec.type == "choice":
        return f"Which of these is right for {named}?"
    head = _head_noun(label)
    if spec.type == "number" and head.casefold() in _MEASURED:
        return f"What is the amount of {label}?"
    if not _is_plural(head):
        return f"What is {named}?"
    if spec.type == "number" and counted:
        return f"What is the number of {label}?"
    return f"What are {named}?"


def _head_noun(label: str) -> str:
    """Return the head noun of a phrase: the last noun before a preposition, a clause or a bracket."""
    words: list[str] = []
    for word in _WORD.findall(re.split(r"[(,]", label, maxsplit=1)[0]):
        if words and word.casefold() in _BEHIND_HEAD:
            break
        words.append(word)
    while len(words) > 1 and (words[-1].endswith("ed") or words[-1].casefold() in _PARTICIPLES):
        words.pop()
    return words[-1] if words else ""


def _is_plural(noun: str) -> bool:
    small = noun.casefold()
    if small in _PLURALS:
        return True
    if noun[:-1].isupper():
        return noun.endswith("s")  # As in `GPUs`, but not in `DNS`.
    return small.endswith("s") and small not in _SINGULARS and not small.endswith(("ss", "us", "is", "'s"))


def _is_counted(schema: Schema, path: str) -> bool:
    unit = schema.unit(path)
    if unit is None:
        return False  # It is money, in a currency that is not known yet.
    counts = unit.split("/")[0].strip()
    return not counts or schema.profile.units.get(counts) == ""


TEXT_MAX = 500
"""The largest number of characters in a text field's value."""
BLOCKED = "The calculation is blocked:"
"""If the first line of a question says what blocks the calculation, the line begins with these words."""
_CURRENCY = re.compile(r"[A-Za-z]{3}")


def _answer_schema(schema: Schema, path: str) -> dict[str, Any]:
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
    unit = schema.unit(path) or ""
    units = dict(schema.profile.units)
    found: dict[str, Any] = {"type": "string", "format": QUANTITY, "unit": unit}
    short = drop_counted_units(unit, units)
    if short != unit:
        found["short_unit"] = short
    if units:
        found["units"] = units
    bounds = {"minimum": spec.minimum, "maximum": spec.maximum}
    return found | {name: bound for name, bound in bounds.items() if bound is not None}


def read_answer(schema: Schema, path: str, answer: str, *, source: str, via: Via = "user") -> FieldValue | str:
    """Return the value that a person's text states for a field, or why the text states no value."""
    spec = schema.fields[path]
    if spec.type == "number":
        unit = schema.unit(path)
        if unit is None:
            return f"the unit of {path} is not known yet"
        read = read_quantity(_number_schema(schema, path, spec), answer)
        if isinstance(read, Refusal):
            return read.message
        return make_number_value(read, via=via, source=source, quote=answer.strip())
    text = " ".join(answer.split())
    problem = _text_problem(spec, text)
    if problem:
        return problem
    if spec.type == "currency":
        text = text.upper()
    return FieldValue(value=text, via=via, source=source, quote=text)


def _text_problem(spec: FieldSpec, text: str) -> str:
    if not text or len(text) > TEXT_MAX:
        return f"give a text of 1 to {TEXT_MAX} characters"
    if spec.type == "currency" and not (_CURRENCY.fullmatch(text) and text.upper() in CODES):
        return f"{text!r} is not a currency; give a code of three letters, such as EUR"
    if spec.type == "choice" and text not in spec.choices:
        return f"{text!r} is not one of {', '.join(spec.choices)}"
    return ""


def make_number_value(read: Quantity, *, via: Via, source: str, quote: str, confidence: float = 1.0) -> FieldValue:
    """Return a quantity as the value of a field. The chosen value is the middle of the quantity's range."""
    middle = read.low if read.exact else (read.low + read.high) / 2
    low, high = (None, None) if read.exact else (read.low, read.high)
    return FieldValue(
        value=middle, low=low, high=high, unit=read.unit, via=via, source=source, quote=quote, confidence=confidence
    )


def check_bounds(spec: FieldSpec, read: Quantity) -> str:
    """Return why a quantity is outside the bounds of its field; empty if it is within them."""
    if spec.minimum is not None and read.low < spec.minimum:
        return f"{read.text} is below the minimum, {spec.minimum:g} {read.unit}".rstrip()
    if spec.maximum is not None and read.high > spec.maximum:
        return f"{read.text} is above the maximum, {spec.maximum:g} {read.unit}".rstrip()
    return ""


def acquisition_question(schema: Schema, decision: PlannerDecision) -> AskedForm:
    """Return the question that a decision asks, in the form that people see."""
    path = decision.target_field
    return add_consequences(
        _inquiry(schema, decision),
        about=_about(schema, path),
        otherwise=_otherwise(schema, path),
        priority="normal" if schema.fields[path].default is None else "low",
    )


def _inquiry(schema: Schema, decision: PlannerDecision) -> Inquiry:
    """Return the question about a field.

    If a model has worded it, or if the profile's words are not a question, it quotes these words.
    """
    path = decision.target_field
    blocked, question = _split_question(decision.question)
    own = field_question(schema, path)
    wanted = _answer_schema(schema, path)
    subject = f"the value '{one_line(schema.fields[path].label, 200)}'"
    options = options_of(wanted) if answer_form(wanted) == "choice" else ()
    meanings = {value: f"The value is {value}." for value in options}
    of_model = bool(question) and question != own
    if of_model or not own.endswith("?"):
        who, words = ("The model", question) if of_model else ("The profile", own)
        return quote_question(who, subject, words, does=_TAKEN, schema=wanted, meanings=meanings, above=blocked)
    return inquiry(own, shown=blocked, choices=meanings or None, schema=wanted)


def _split_question(question: str) -> tuple[str, str]:
    """Split a decision's question into the line about a blocked calculation (may be empty), and the question itself."""
    if not question.startswith(BLOCKED):
        return "", question.strip()
    blocked, _, rest = question.partition("\n")
    return blocked, rest.strip()


_TAKEN = "Your answer becomes the value."


def _about(schema: Schema, path: str) -> str:
    spec = schema.fields[path]
    label = f"The question is about the value '{one_line(spec.label, 200)}' ({path})"
    if path in schema.profile.bootstrap:
        return f"{label}. All searches need this value."
    results = _results(schema, path)
    if results:
        more = f" and {len(results) - 3} more" if len(results) > 3 else ""
        return f"{label}. These results depend on the value: {', '.join(results[:3])}{more}."
    return f"{label}. The value is a part of the result."


def _results(schema: Schema, path: str) -> list[str]:
    calculator = schema.profile.calculator
    if calculator is None:
        return []
    return [one_line(result.label, 100) for result in calculator.results.values() if path in result.formula]


def _otherwise(schema: Schema, path: str) -> str:
    spec: FieldSpec = schema.fields[path]
    if spec.default is not None:
        return f"the default {spec.default} is assumed."
    if path in schema.profile.bootstrap:
        return "the run ends as incomplete, because all searches need this value."
    if spec.required:
        return "the value stays empty, and the run ends as incomplete."
    return "the value stays empty, and the run goes on."


VALUE = "value"
"""The value of the key `kind` in the message of a correction."""
TOLD = "told by the user"
_CORRECTION = re.compile(r"(?P<field>[a-z][a-z0-9_]*(?:\.[a-z0-9_]+){0,4})[ \t]*=[ \t]*(?P<text>[^\n]{1,500})")


def make_correction(state: State, text: str) -> Mapping[str, Any] | None:
    """Return the message of a correction for a text `FIELD=VALUE`; None for a text of another form.

    Raises `UsageProblem` if the run cannot accept the value.
    """
    match = _CORRECTION.fullmatch(text.strip())
    if match is None:
        return None
    _read_told_value(state, match["field"], match["text"])
    return {"kind": VALUE, "field": match["field"], "text": match["text"]}


def _read_told_value(state: State, path: str, text: str) -> FieldValue:
    """Return the value that a correction gives a field. Raises `UsageProblem` if the run cannot accept the value."""
    end = state.run.finished
    if end is not None and end.outcome in (Outcome.CANCELLED, Outcome.FAILED):
        raise UsageProblem(
            f"the run has ended ({end.outcome}), so it accepts no value", place=path, hint="start a new run with --set"
        )
    schema = schema_of(state)
    if path not in schema.fields:
        hint = nearest(path, schema.fields, kind="fields")
        raise UsageProblem(f"{path!r} is not a field of the profile {schema.profile.name}", place=path, hint=hint)
    asked = next(
        (name for name, question in state.run.questions.items() if question.open and path in question.request.blocks),
        "",
    )
    if asked:
        raise UsageProblem(f"question {asked} already asks for {path}", place=path, hint="answer the question")
    if _units_depend_on(schema, path):
        cause = f"the value cannot change, because the units of other values depend on {path}"
        raise UsageProblem(cause, place=path, hint=f"start a new run with --set {path}=...")
    value = read_answer(schema, path, text, source=TOLD)
    if isinstance(value, FieldValue):
        return value
    unit = schema.unit(path)
    raise UsageProblem(f"{path}: {value}", place=path, hint=f"give the value in {unit}" if unit else "")


def _units_depend_on(schema: Schema, path: str) -> bool:
    """Return whether a new value of a field would change the units of existing values."""
    if schema.value(path) is None:
        return False
    return any(
        path in SLOT.findall(spec.unit) and schema.planner.values.get(name) for name, spec in schema.fields.items()
    )


def accept_correction(state: State, message: "Mailed") -> ValueTold | MailRefused | None:
    """Return the event that accepts or refuses a correction; None if the message is not a correction."""
    try:
        body = json.loads(message.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or body.get("kind") != VALUE:
        return None
    path = str(body.get("field", ""))
    text = str(body.get("text", ""))
    try:
        value = _read_told_value(state, path, text)
    except UsageProblem as problem:
        return MailRefused(at=message.at, mono=message.mono, key=make_storable(message.key), reason=problem.cause)
    return ValueTold(at=message.at, mono=message.mono, path=path, value=value)
