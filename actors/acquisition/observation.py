"""Reads a model's observation: of the values that it found in passages, those with evidence are taken. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.acquisition.answers import number_value, out_of_bounds
from actors.acquisition.evidence import composed_text, passage_of, stated_quantity, states_text, widened_quote
from actors.acquisition.planner_state import Passage, Rejection
from actors.acquisition.profile import FieldSpec
from actors.acquisition.replies import Unusable, one_line, read_object, text_of
from actors.acquisition.schema import Schema, schema_of
from actors.acquisition.state import ReplyText, State
from actors.acquisition.table_rows import other_rows
from actors.acquisition.values import FieldValue
from actors.quantities.currencies import CODES
from actors.quantities.periods import period_of
from actors.quantities.quantity import Refusal, RefusalCode
from actors.quantities.quoted import Found
from actors.quantities.unit_forms import with_words
from actors.quantities.units import UnitTable
from runtime.core.total_readers import total

VALUES_MAX = 30
"""Values of one reply that are looked at."""
QUOTE_KEPT = 600
"""Characters of a quote that a rejection keeps."""
_CODES = {
    RefusalCode.VALUE_NOT_IN_QUOTE: "missing_evidence",
    RefusalCode.QUOTE_MISSING: "missing_evidence",
    RefusalCode.QUOTE_CUT: "quote_cut",
    RefusalCode.NOT_UNDERSTOOD: "not_understood",
    RefusalCode.AMBIGUOUS_NUMBER: "not_understood",
    RefusalCode.NO_UNIT: "no_unit",
    RefusalCode.WRONG_UNIT: "wrong_unit",
    RefusalCode.UNKNOWN_UNIT: "wrong_unit",
}
VALUE_MAX = 200
"""Characters of a value that are read."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a reply states about the fields."""

    values: tuple[tuple[str, FieldValue], ...] = ()
    """The values with evidence, each with the path of its field."""
    rejections: tuple[Rejection, ...] = ()
    """The others, with the reasons."""


@total("the values", Unusable)
def read_observation(reply: ReplyText, state: State) -> Observation | Unusable:
    """Return what a reply states, or why the reply as a whole cannot be used."""
    value = read_object(reply)
    if isinstance(value, Unusable):
        return value
    listed = value.get("values")
    if not isinstance(listed, list):
        return Unusable("`values` is a list; it is empty where the passages state no value.")
    schema = schema_of(state)
    values: list[tuple[str, FieldValue]] = []
    rejections: list[Rejection] = []
    for each in listed[:VALUES_MAX]:
        if not isinstance(each, dict):
            return Unusable("Each of `values` is an object.")
        read = _read(each, state, schema)
        if isinstance(read, Rejection):
            rejections.append(read)
        else:
            values += [(text_of(each.get("field")), value) for value in read]
    return Observation(tuple(values), tuple(rejections))


def _read(given: Mapping[str, Any], state: State, schema: Schema) -> tuple[FieldValue, ...] | Rejection:
    """Return the value that a reply states, with those of the other rows of its table; or why it is not taken."""
    path, quote, source = (text_of(given.get(key)) for key in ("field", "quote", "source"))

    def rejected(code: str, message: str) -> Rejection:
        about = path if path in schema.fields else ""
        return Rejection(
            path=about,
            code=code,
            message=one_line(message, QUOTE_KEPT),
            source=one_line(source, QUOTE_KEPT),
            quote=one_line(quote, QUOTE_KEPT),
        )

    if path not in schema.fields or schema.is_made(path) or path in schema.profile.bootstrap:
        return rejected("unknown_field", f"{path[:80]!r} is no field that is searched for")
    spec = schema.fields[path]
    passage = passage_of(state.planner.last_observation, source, quote)
    if passage is None:
        return rejected("missing_evidence", "the quote does not stand in the source")
    value = _value_text(given.get("value"))
    confidence = _confidence(given.get("confidence"))
    numeric = spec.type == "number"
    taken = total(f"the value of {path}", lambda said: Rejection(path=path, code="unreadable", message=said))
    read = taken(_numbers)(schema, path, passage, given) if numeric else taken(_text)(spec, value, quote)
    if isinstance(read, Rejection):
        return rejected(read.code, read.message)
    found = read if isinstance(read, tuple) else (read,)
    return tuple(each.model_copy(update={"source": passage.source, "confidence": confidence}) for each in found)


def _value_text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return ""
    return format(value, ".15g") if isinstance(value, int | float) else text_of(value)[:VALUE_MAX]


def _confidence(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return 0.5
    return float(value)


def _numbers(
    schema: Schema, path: str, passage: Passage, given: Mapping[str, Any]
) -> tuple[FieldValue, ...] | Rejection:
    """Return the number that a reply states, and those that the other rows of the same table state for other years."""
    spec, wanted = schema.fields[path], schema.unit(path)
    if wanted is None:
        return Rejection(path=path, code="wrong_unit", message="the unit of the field is not known yet")
    quote, value, unit = text_of(given.get("quote")), _value_text(given.get("value")), text_of(given.get("unit"))
    units = with_words(schema.profile.units, (spec.label, *spec.words))
    table = UnitTable(units)
    read = stated_quantity(passage, quote, value, unit, wanted=wanted, units=units, table=table)
    if isinstance(read, Refusal):
        return Rejection(path=path, code=_CODES.get(read.code, "unreadable"), message=read.message)
    outside = out_of_bounds(spec, read.quantity)
    if outside:
        return Rejection(path=path, code="out_of_bounds", message=outside)
    others = other_rows(passage, read, unit, wanted=wanted, units=units, table=table)
    within = [each for each in others if not out_of_bounds(spec, each.quantity)]
    return tuple(_value(passage, each, quote if each is read else "") for each in (read, *within))


def _value(passage: Passage, found: Found, quote: str) -> FieldValue:
    """Return the value of a quantity of a passage; its quote holds all of the quantity."""
    words = widened_quote(passage, found, quote)
    period = period_of(composed_text(passage.text), found.start, found.end, passage.title)
    value = number_value(found.quantity, via="search", source="", quote=words)
    return value.model_copy(update={"period": period})


def _text(spec: FieldSpec, value: str, quote: str) -> FieldValue | Rejection:
    text = " ".join(value.split())
    if spec.type == "choice":
        text = next((each for each in spec.choices if each.casefold() == text.casefold()), text)
    if spec.type == "currency":
        text = text.upper()
    unfit = (spec.type == "choice" and text not in spec.choices) or (spec.type == "currency" and text not in CODES)
    if unfit or not text:
        return Rejection(path="", code="unreadable", message=f"{text[:80]!r} is no value of the field")
    if not states_text(quote, text):
        return Rejection(path="", code="missing_evidence", message=f"the quote does not state {text[:80]!r}")
    return FieldValue(value=text, via="search", quote=" ".join(quote.split()))
