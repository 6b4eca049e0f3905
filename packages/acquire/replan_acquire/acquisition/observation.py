"""Reads the values that a model has found in passages, and accepts those values that the passages prove. Pure."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replan_acquire.acquisition.answers import check_bounds, make_number_value
from replan_acquire.acquisition.planner_state import FoundPassage, Rejection
from replan_acquire.acquisition.profile import FieldSpec
from replan_acquire.acquisition.replies import Unusable, cut_line, read_object, text_of
from replan_acquire.acquisition.schema import Schema, schema_of
from replan_acquire.acquisition.state import ReplyText, State
from replan_acquire.acquisition.values import FieldValue
from replan_acquire.quantities.periods import last_year, period_of
from replan_acquire.quantities.quantity import Refusal, RefusalCode
from replan_acquire.quantities.quoted import Found, Source, find_quoted_value
from replan_acquire.quantities.unit_forms import with_words
from replan_acquire.quantities.units import CODES, UnitTable
from runtime.core.hooks import make_total

QUOTE_MAX = 600
"""The largest number of characters in a quote that a model's reply gives for a value. A value with a longer quote is
rejected."""
PLACES_MAX = 20
_SAME = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ad": "", "\u2011": "-"}


def _fold_quote(text: str) -> str:
    """Return a form of a text without differences in white space, case and similar characters, to compare quotes."""
    return _fold_with_places(compose_characters(text))[0]


def compose_characters(text: str) -> str:
    """Return a text in Unicode's composed form (NFC). All offsets of quotes and numbers are offsets in this form."""
    return unicodedata.normalize("NFC", text)


def _fold_with_places(text: str) -> tuple[str, list[int]]:
    """Return a composed text in the form of `_fold_quote`, and for each character its offset in the composed text."""
    characters: list[str] = []
    places: list[int] = []
    for position, character in enumerate(text):
        same = unicodedata.normalize("NFKC", _SAME.get(character, character)).casefold()
        for item in same:
            if not item.isspace():
                characters.append(item)
                places.append(position)
            elif characters and characters[-1] != " ":
                characters.append(" ")
                places.append(position)
    if characters and characters[-1] == " ":
        characters.pop()
        places.pop()
    return "".join(characters), places


def find_quote(text: str, quote: str) -> tuple[tuple[int, int], ...]:
    """Return the offsets (begin, end) of each occurrence of a quote in a composed text; at most `PLACES_MAX`."""
    words = _fold_quote(quote)
    if not words:
        return ()
    folded, places = _fold_with_places(text)
    spans: list[tuple[int, int]] = []
    begin = folded.find(words)
    while begin >= 0 and len(spans) < PLACES_MAX:
        spans.append((places[begin], places[begin + len(words) - 1] + 1))
        begin = folded.find(words, begin + 1)
    return tuple(spans)


def find_passage(passages: Sequence[FoundPassage], source: str, quote: str) -> FoundPassage | None:
    """Return the passage that contains a quote; None if no passage contains it.

    If any passages are from the named source, only these passages are considered.
    """
    words = _fold_quote(quote)
    if not words or len(quote) > QUOTE_MAX:
        return None
    holding = [passage for passage in passages if words in _fold_quote(passage.text)]
    named = [passage for passage in holding if passage.source == source]
    return next(iter(named or ([] if source in {item.source for item in passages} else holding)), None)


def read_stated_quantity(
    passage: FoundPassage, quote: str, value: str, unit: str, *, wanted: str, units: Mapping[str, str], table: UnitTable
) -> Found | Refusal:
    """Return the quantity that a quote and a value mean, in the unit `wanted`, or why they mean none.

    `value` only shows which number of the quote is meant. The number, its unit and its rates are read from the passage
    around the quote. `units` are the units of the profile.
    """
    text = compose_characters(passage.text)
    spans = find_quote(text, quote)
    if not spans:
        return Refusal(code=RefusalCode.QUOTE_MISSING, message="the source does not contain the quote")
    source = Source(text, passage.decimal_mark, passage.language)
    return find_quoted_value(source, spans, value, unit, wanted=wanted, table=table, declared=units)


def _widen_quote(passage: FoundPassage, found: Found, quote: str) -> str:
    """Return the quote on one line, extended so that it contains the whole quantity.

    If no occurrence of the quote overlaps the quantity, the result is the whole line of the quantity.
    """
    text = compose_characters(passage.text)
    for start, end in find_quote(text, quote):
        if start < found.end and found.start < end:
            return " ".join(text[min(start, found.start) : max(end, found.end)].split())
    end = text.find("\n", found.end)
    return " ".join(text[text.rfind("\n", 0, found.start) + 1 : len(text) if end < 0 else end].split())


def _states_text(quote: str, value: str) -> bool:
    return bool(value.strip()) and _fold_quote(value) in _fold_quote(quote)


ROWS_MAX = 60


def _read_other_rows(
    passage: FoundPassage, found: Found, unit: str, *, wanted: str, units: Mapping[str, str], table: UnitTable
) -> tuple[Found, ...]:
    """Return the quantities of those table rows that differ from the row of `found` only in years and numbers."""
    text = compose_characters(passage.text)
    start = text.rfind("\n", 0, found.start) + 1
    cells = _cell_offsets(text, start)
    own = next((position for position, (begin, end) in enumerate(cells) if begin <= found.start < end), None)
    if own is None or len(cells) < 2 or not _has_year(text, cells):
        return ()
    words = _cell_subjects(text, cells)
    others = []
    source = Source(text, passage.decimal_mark, passage.language)
    line = 0
    for _ in range(ROWS_MAX):
        row = _cell_offsets(text, line)
        if line != start and len(row) == len(cells) and _cell_subjects(text, row) == words and _has_year(text, row):
            begin, end = row[own]
            value = text[begin:end].rpartition(": ")[2].strip(" |")
            read = find_quoted_value(source, [(begin, end)], value, unit, wanted=wanted, table=table, declared=units)
            if isinstance(read, Found):
                others.append(read)
        after = text.find("\n", line)
        if after < 0:
            break
        line = after + 1
    return tuple(others)


def _cell_offsets(text: str, start: int) -> list[tuple[int, int]]:
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    cells = []
    begin = start
    for part in text[start:end].split("|"):
        cells.append((begin, begin + len(part)))
        begin += len(part) + 1
    return cells if len(cells) > 1 else []


def _cell_subjects(text: str, cells: list[tuple[int, int]]) -> list[str]:
    """Return the text of each cell without digits, spaces, points and commas, to compare the subjects of rows."""
    return [
        "".join(item for item in text[begin:end] if not item.isdigit() and item not in " .,") for begin, end in cells
    ]


def _has_year(text: str, cells: list[tuple[int, int]]) -> bool:
    begin, end = cells[0][0], cells[-1][1]
    row = text[begin:end]
    return any(last_year(period_of(row, place, place)) for place in (0, len(row)))


VALUES_MAX = 30
QUOTE_KEPT = 600
"""The largest number of characters that a rejection keeps of its quote. The same limit holds for its source and for its
message."""
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


@dataclass(frozen=True, slots=True)
class Observation:
    """The accepted values and the rejections in a reply."""

    values: tuple[tuple[str, FieldValue], ...] = ()
    rejections: tuple[Rejection, ...] = ()


@make_total("the values", Unusable)
def read_observation(reply: ReplyText, state: State) -> Observation | Unusable:
    """Return the accepted values and the rejections in a reply, or why the whole reply cannot be used."""
    value = read_object(reply)
    if isinstance(value, Unusable):
        return value
    listed = value.get("values")
    if not isinstance(listed, list):
        return Unusable("`values` must be a list; it is empty if the passages state no value.")
    schema = schema_of(state)
    values: list[tuple[str, FieldValue]] = []
    rejections: list[Rejection] = []
    for item in listed[:VALUES_MAX]:
        if not isinstance(item, dict):
            return Unusable("Each item of `values` must be a JSON object.")
        read = _read_values(item, state, schema)
        if isinstance(read, Rejection):
            rejections.append(read)
        else:
            values += [(text_of(item.get("field")), value) for value in read]
    return Observation(tuple(values), tuple(rejections))


def _read_values(given: Mapping[str, Any], state: State, schema: Schema) -> tuple[FieldValue, ...] | Rejection:
    """Return the value of one item of a reply, and further values from its table, or why the item is rejected."""
    path, quote, source = (text_of(given.get(key)) for key in ("field", "quote", "source"))

    def rejected(code: str, message: str) -> Rejection:
        known_path = path if path in schema.fields else ""
        return Rejection(
            path=known_path,
            code=code,
            message=cut_line(message, QUOTE_KEPT),
            source=cut_line(source, QUOTE_KEPT),
            quote=cut_line(quote, QUOTE_KEPT),
        )

    if path not in schema.fields or schema.is_made(path) or path in schema.profile.bootstrap:
        return rejected("unknown_field", f"{path[:80]!r} is not a field that a search may fill")
    spec = schema.fields[path]
    passage = find_passage(state.planner.last_observation, source, quote)
    if passage is None:
        return rejected("missing_evidence", "the source does not contain the quote")
    value = _value_text(given.get("value"))
    confidence = _confidence(given.get("confidence"))
    numeric = spec.type == "number"
    reader = make_total(f"the value of {path}", lambda said: Rejection(path=path, code="unreadable", message=said))
    read = reader(_numbers)(schema, path, passage, given) if numeric else reader(_text)(spec, value, quote, passage)
    if isinstance(read, Rejection):
        return rejected(read.code, read.message)
    found = read if isinstance(read, tuple) else (read,)
    return tuple(item.model_copy(update={"source": passage.source, "confidence": confidence}) for item in found)


def _value_text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return ""
    return format(value, ".15g") if isinstance(value, int | float) else text_of(value)[:VALUE_MAX]


def _confidence(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return 0.5
    return float(value)


def _numbers(
    schema: Schema, path: str, passage: FoundPassage, given: Mapping[str, Any]
) -> tuple[FieldValue, ...] | Rejection:
    """Return the number of one item of a reply, and those for other years in its table, or why it is rejected."""
    spec = schema.fields[path]
    wanted = schema.unit(path)
    if wanted is None:
        return Rejection(path=path, code="wrong_unit", message="the unit of the field is not known yet")
    quote = text_of(given.get("quote"))
    value = _value_text(given.get("value"))
    unit = text_of(given.get("unit"))
    units = with_words(schema.profile.units, (spec.label, *spec.words))
    table = UnitTable(units)
    read = read_stated_quantity(passage, quote, value, unit, wanted=wanted, units=units, table=table)
    if isinstance(read, Refusal):
        return Rejection(path=path, code=_CODES.get(read.code, "unreadable"), message=read.message)
    outside = check_bounds(spec, read.quantity)
    if outside:
        return Rejection(path=path, code="out_of_bounds", message=outside)
    others = _read_other_rows(passage, read, unit, wanted=wanted, units=units, table=table)
    within = [other for other in others if not check_bounds(spec, other.quantity)]
    return tuple(_value(passage, item, quote if item is read else "") for item in (read, *within))


def _value(passage: FoundPassage, found: Found, quote: str) -> FieldValue:
    """Return a quantity of a passage as a value. The value's quote contains the whole quantity."""
    words = _widen_quote(passage, found, quote)
    period = period_of(compose_characters(passage.text), found.start, found.end, passage.title)
    value = make_number_value(found.quantity, via="search", source="", quote=words)
    return value.model_copy(update={"period": period, "place": passage.place_at(found.start)})


def _text(spec: FieldSpec, value: str, quote: str, passage: FoundPassage) -> FieldValue | Rejection:
    text = " ".join(value.split())
    if spec.type == "choice":
        text = next((choice for choice in spec.choices if choice.casefold() == text.casefold()), text)
    if spec.type == "currency":
        text = text.upper()
    unfit = (spec.type == "choice" and text not in spec.choices) or (spec.type == "currency" and text not in CODES)
    if unfit or not text:
        return Rejection(path="", code="unreadable", message=f"{text[:80]!r} is not an allowed value of the field")
    if not _states_text(quote, text):
        return Rejection(path="", code="missing_evidence", message=f"the quote does not state {text[:80]!r}")
    begin, end = find_quote(compose_characters(passage.text), quote)[0]
    at = _fold_quote(compose_characters(passage.text)[begin:end]).find(_fold_quote(text))
    place = passage.place_at(begin + max(at, 0))
    return FieldValue(value=text, via="search", quote=" ".join(quote.split()), place=place)
