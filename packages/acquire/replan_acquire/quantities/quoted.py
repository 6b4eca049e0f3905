"""Reads the quantity that a quote states. Pure.

A model only shows which number of a quote it means; it cannot change the number. The whole quantity is read from the
source's text around the quote. If a number is ambiguous, only the source decides what it means.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replan_acquire.quantities.numerals import DecimalMark, decimal_mark, fold
from replan_acquire.quantities.quantity import MAGNITUDE_MAX, Quantity, Refusal, RefusalCode
from replan_acquire.quantities.unit_forms import UnitForm, find_form
from replan_acquire.quantities.unit_words import TIME_UNITS
from replan_acquire.quantities.units import UnitTable
from replan_acquire.quantities.whole import Whole, other_rates, whole_quantity
from replan_acquire.quantities.written import WrittenNumber, find_numbers

VALUE_CHARACTERS_MAX = 500
"""The largest number of characters in a text from which a value is read."""


def read_value(text: str, unit: str, table: UnitTable, *, mark: DecimalMark = "") -> Quantity | Refusal:
    """Return the only quantity that a text states, in `unit`, or why it does not state exactly one.

    A number without a unit counts as a number in `unit`. `mark` is the decimal mark that the text's writer uses; empty
    if unknown.
    """
    if len(text) > VALUE_CHARACTERS_MAX:
        return Refusal(code=RefusalCode.TOO_LONG, message=f"the text has more than {VALUE_CHARACTERS_MAX} characters")
    numbers = find_numbers(text, mark)
    if not numbers:
        return Refusal(code=RefusalCode.NO_NUMBER, message=f"there is no number in {_shorten_text(text)!r}")
    if len(numbers) > 1:
        shown = tuple(" or ".join(number.shown) for number in numbers[:5])
        found = ", ".join(shown)
        message = f"{_shorten_text(text)!r} has several numbers ({found}); give one number, or a range such as 3-5"
        return Refusal(code=RefusalCode.SEVERAL_NUMBERS, message=message)
    number = numbers[0]
    if len(number.readings) > 1:
        return _refuse_ambiguous(text, number)
    low, high = number.readings[0]
    if max(abs(low), abs(high)) > MAGNITUDE_MAX:
        return Refusal(code=RefusalCode.OUT_OF_RANGE, message=f"{_shorten_text(text)!r} is over {MAGNITUDE_MAX:g}")
    whole = whole_quantity(text, number, table, mark=mark)
    if whole.doubt:
        message = f"{_shorten_text(text)!r}: {whole.doubt}; give the value in {unit or 'plain numbers'}"
        return Refusal(code=RefusalCode.NOT_UNDERSTOOD, message=message)
    if not whole.units:
        return _without_unit(text, whole, low, high, unit=unit, table=table)
    written = next((name for name in whole.units if table.same_kind(name, unit)), whole.units[0])
    quantity = whole.quantity(low, high, written)
    return quantity if isinstance(quantity, Refusal) else table.convert(quantity, unit)


def _without_unit(
    text: str, whole: Whole, low: float, high: float, *, unit: str, table: UnitTable
) -> Quantity | Refusal:
    """Return the quantity of a number without a known unit, in `unit`.

    If words after the number may be an unknown unit, return a refusal.
    """
    rest = text[whole.end :].strip(" \u00a0.!")
    if rest:
        message = f"{_shorten_text(rest)!r} is not a known unit; give the value in {unit or 'plain numbers'}"
        return Refusal(code=RefusalCode.UNKNOWN_UNIT, message=message)
    problem = table.problem(unit)
    if problem:
        return Refusal(code=RefusalCode.UNKNOWN_UNIT, message=problem)
    return whole.quantity(low, high, unit)


def _refuse_ambiguous(text: str, number: WrittenNumber) -> Refusal:
    written = text[number.start : number.end]
    return Refusal(
        code=RefusalCode.AMBIGUOUS_NUMBER,
        message=f"{written!r} may be {' or '.join(number.shown)}, and it is not clear which; leave out the separator",
        readings=number.shown,
    )


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


QUOTE_CHARACTERS_MAX = 2000
SOURCE_CHARACTERS_MAX = 8000


@dataclass(frozen=True, slots=True)
class Source:
    """A text with quotes, and its decimal mark and language."""

    text: str
    mark: DecimalMark = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A quantity in the wanted unit, and its offsets in the source."""

    quantity: Quantity
    start: int
    end: int


def find_quoted_value(
    source: Source,
    spans: Sequence[tuple[int, int]],
    value: str,
    unit: str,
    *,
    wanted: str,
    table: UnitTable,
    declared: Mapping[str, str] | None = None,
) -> Found | Refusal:
    """Return the quantity that a quote and a value mean, in the unit `wanted`, or why they mean none.

    `source` has the text that contains the quote. `spans` are the start and end of each occurrence of the quote in the
    text. `value` is the value from the model. It may be one end of a range, or a fraction instead of a percentage.
    `unit` is the unit from the model, which is used only if the source does not state a rate. `wanted` is the unit of
    the field. `table` has all units, and `declared` has the profile's own units.
    """
    if any(end - start > QUOTE_CHARACTERS_MAX for start, end in spans) or len(value) + len(unit) > VALUE_CHARACTERS_MAX:
        return Refusal(code=RefusalCode.TOO_LONG, message="the quote or the value is too long")
    text = source.text[:SOURCE_CHARACTERS_MAX]
    marks = {decimal_mark(text[start:end]) for start, end in spans} - {""}
    mark = marks.pop() if len(marks) == 1 else source.mark
    given = [*find_numbers(value, mark, source.language), *find_numbers(f"{value} {unit}", mark, source.language)]
    numbers = find_numbers(text, mark, source.language)
    within = [item for item in numbers if any(start < item.end and item.start < end for start, end in spans)]
    meant = [item for item in within if _names(value, given, text, item)]
    if not meant:
        cut = next((item for item in within if not _is_in_text(text, item.start, item.end, spans)), None)
        if cut is not None:
            return _refuse_cut_number(text, cut.start, cut.end)
        message = f"the quote does not state {_shorten_text(value)!r}"
        return Refusal(code=RefusalCode.VALUE_NOT_IN_QUOTE, message=message)
    reader = _Reader(source, spans, unit, wanted, table, declared or {}, mark)
    read = [reader.read(text, number) for number in meant]
    found = [item for item in read if isinstance(item, Found)]
    if len({(item.quantity.low, item.quantity.high) for item in found}) > 1:
        message = f"the quote states {_shorten_text(value)!r} more than once, in different quantities"
        return Refusal(code=RefusalCode.NOT_UNDERSTOOD, message=message)
    return found[0] if found else read[0]


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Source
    spans: Sequence[tuple[int, int]]
    given: str
    wanted: str
    table: UnitTable
    declared: Mapping[str, str]
    mark: DecimalMark

    def read(self, text: str, number: WrittenNumber) -> Found | Refusal:
        if not _is_in_text(text, number.start, number.end, self.spans):
            return _refuse_cut_number(text, number.start, number.end)
        whole = whole_quantity(text, number, self.table, mark=self.mark, language=self.source.language)
        if not _is_in_text(text, whole.start, whole.core_end, self.spans):
            return _refuse_cut_number(text, whole.start, whole.core_end)
        if whole.doubt:
            return Refusal(code=RefusalCode.NOT_UNDERSTOOD, message=f"{_words(text, whole)!r}: {whole.doubt}")
        if len(number.readings) > 1:
            return _refuse_ambiguous(text, number)
        low, high = number.readings[0]
        if max(abs(low), abs(high)) > MAGNITUDE_MAX:
            return Refusal(code=RefusalCode.OUT_OF_RANGE, message=f"the number is over {MAGNITUDE_MAX:g}")
        form = find_form(whole.units, self.wanted, self.given, self.table, self.declared)
        if isinstance(form, Refusal):
            return form
        problem = self._contradiction(text, whole, form)
        if problem:
            return Refusal(code=RefusalCode.NOT_UNDERSTOOD, message=problem)
        quantity = whole.quantity(low, high, form.unit)
        read = quantity if isinstance(quantity, Refusal) else self.table.convert(quantity, form.target)
        if isinstance(read, Refusal):
            return read
        return Found(read.model_copy(update={"unit": self.wanted}), whole.start, whole.end)

    def _contradiction(self, text: str, whole: Whole, form: UnitForm) -> str:
        """Return a message if a quantity states no rate, but its sentence states another rate; otherwise empty."""
        if not form.left_out:
            return ""
        units, unknown = other_rates(text, whole, self.table)
        named = [*form.left_out, *form.rates]
        others = [unit for unit in units if not any(self._same_thing(unit, name) for name in named)]
        if other_rate := next(iter((*others, *unknown)), ""):
            words, left = _words(text, whole), ", ".join(form.left_out)
            return f"{words!r} leaves out its rate ({left}), but its sentence has another rate, {other_rate!r}"
        return ""

    def _same_thing(self, one: str, other: str) -> bool:
        """Return whether two units of rates can mean the same. Two different units of time cannot."""
        return one == other or (one not in TIME_UNITS and self.table.same_kind(one, other))


def _words(text: str, whole: Whole) -> str:
    return _shorten_text(text[whole.start : whole.end])


def _is_in_text(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a quote contains the text from `start` to `end`, apart from a point at the end."""
    end -= text[end - 1 : end] == "."
    return any(first <= start and end <= last for first, last in spans)


def _refuse_cut_number(text: str, start: int, end: int) -> Refusal:
    whole = _shorten_text(text[start:end])
    message = f"the quote has only a part of {whole!r}; it must have the number with its scale and unit"
    return Refusal(code=RefusalCode.QUOTE_CUT, message=message)


def _names(value: str, given: list[WrittenNumber], text: str, number: WrittenNumber) -> bool:
    """Return whether a model's value means a number of the text, because both have the same digits or the same size."""
    digits = fold(value).strip()
    written = fold(text[number.start : number.end])
    if digits and re.search(rf"(?<![\d.,]){re.escape(digits)}(?![\d]|[.,]\d)", written) and digits[-1:].isdigit():
        return True
    return any(_is_same_number(item, number) for item in given)


def _is_same_number(given: WrittenNumber, number: WrittenNumber) -> bool:
    share = 100.0 if number.share == "percent" else 1000.0 if number.share == "permille" else 1.0
    scales = {1.0} if given.share else {1.0, share}
    return any(
        all(any(math.isclose(end * scale, bound, rel_tol=1e-9, abs_tol=1e-12) for bound in bounds) for end in ends)
        for bounds in number.readings
        for ends in given.readings
        for scale in scales
    )
