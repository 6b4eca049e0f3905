"""The value that a quote states: the number in the quote counts, in the unit that is written there. Pure.

A model says which number of a quote it means. It cannot change the number: what is taken is read from the quote, and an
ambiguous number is settled by the source's evidence only.
"""

import math
import re

from actors.quantities.decimal_marks import decimal_mark
from actors.quantities.numerals import DecimalMark, fold
from actors.quantities.quantity import MAGNITUDE_MAX, Quantity, Refusal, RefusalCode
from actors.quantities.read_value import VALUE_CHARACTERS_MAX, ambiguous, shortened
from actors.quantities.unit_tail import written_units
from actors.quantities.units import UnitTable
from actors.quantities.written import WrittenNumber, written_numbers

QUOTE_CHARACTERS_MAX = 2000
"""The most characters of a quote that are searched for numbers."""


def quoted_value(
    quote: str,
    value: str,
    unit: str,
    wanted: str,
    table: UnitTable,
    *,
    mark: DecimalMark = "",
    language: str = "",
) -> Quantity | Refusal:
    """Return the number of a quote that a value names, in the unit `wanted`, or why the quote states none.

    Args:
        quote: The words of the source.
        value: The value as the model gives it; of a range, one end is enough, and a percentage may be a fraction.
        unit: The unit that the model gives; it counts only where the quote has none.
        wanted: The unit of the field.
        table: The units.
        mark: The decimal mark of the source; empty where it has none.
        language: The language of the source, a code such as `pt`; empty where it is not known.
    """
    if len(quote) > QUOTE_CHARACTERS_MAX or len(value) + len(unit) > VALUE_CHARACTERS_MAX:
        return Refusal(code=RefusalCode.TOO_LONG, message="the quote or the value is too long")
    mark = decimal_mark(quote) or mark
    given = [*written_numbers(value, mark, language), *written_numbers(f"{value} {unit}", mark, language)]
    meant = [number for number in written_numbers(quote, mark, language) if _names(value, given, quote, number)]
    if not meant:
        message = f"the quote does not state {shortened(value)!r}"
        return Refusal(code=RefusalCode.VALUE_NOT_IN_QUOTE, message=message)
    read = [_read(quote, number, f"{value} {unit}", wanted, table) for number in meant]
    return next((each for each in read if isinstance(each, Quantity)), read[0])


def _read(quote: str, number: WrittenNumber, given: str, wanted: str, table: UnitTable) -> Quantity | Refusal:
    if len(number.readings) > 1:
        return ambiguous(quote, number)
    low, high = number.readings[0]
    if max(abs(low), abs(high)) > MAGNITUDE_MAX:
        return Refusal(code=RefusalCode.OUT_OF_RANGE, message=f"over {MAGNITUDE_MAX:g}")
    units = written_units(quote, number, table) or _given_units(given, table) or [wanted]
    unit = next((each for each in units if table.same_kind(each, wanted)), None)
    if unit is None:
        message = f"the quote is in {units[0]}, and {wanted or 'a plain number'} is wanted"
        return Refusal(code=RefusalCode.WRONG_UNIT, message=message)
    return table.convert(Quantity(low=low, high=high, unit=unit), wanted)


def _given_units(given: str, table: UnitTable) -> list[str]:
    numbers = written_numbers(given)
    return written_units(given, numbers[0], table) if numbers else []


def _names(value: str, given: list[WrittenNumber], quote: str, number: WrittenNumber) -> bool:
    """Tell whether a value names a number of the quote: by its size, or by its digits as they are written there."""
    digits = fold(value).strip()
    written = fold(quote[number.start : number.end])
    if digits and re.search(rf"(?<![\d.,]){re.escape(digits)}(?![\d]|[.,]\d)", written) and digits[-1:].isdigit():
        return True
    return any(_same(each, number) for each in given)


def _same(given: WrittenNumber, number: WrittenNumber) -> bool:
    share = 100.0 if number.share == "percent" else 1000.0 if number.share == "permille" else 1.0
    scales = {1.0} if given.share else {1.0, share}
    return any(
        all(any(math.isclose(end * scale, bound, rel_tol=1e-9, abs_tol=1e-12) for bound in bounds) for end in ends)
        for bounds in number.readings
        for ends in given.readings
        for scale in scales
    )
