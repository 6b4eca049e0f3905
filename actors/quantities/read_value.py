"""Reads a value from a short text, such as the answer of a person: "3-5 million EUR", "12,5 %", "250 apartments"."""

from actors.quantities.numerals import DecimalMark
from actors.quantities.quantity import MAGNITUDE_MAX, Quantity, Refusal, RefusalCode
from actors.quantities.units import UnitTable
from actors.quantities.whole import Whole, whole_quantity
from actors.quantities.written import WrittenNumber, written_numbers

VALUE_CHARACTERS_MAX = 500
"""Characters of a text that a value is read from."""


def read_value(text: str, unit: str, table: UnitTable, *, mark: DecimalMark = "") -> Quantity | Refusal:
    """Return the one value that a text states, in `unit`; a text without a unit is taken to be in it.

    `mark` is the decimal mark that the text's author uses; empty where that is not known.
    """
    if len(text) > VALUE_CHARACTERS_MAX:
        return Refusal(code=RefusalCode.TOO_LONG, message=f"over {VALUE_CHARACTERS_MAX} characters")
    numbers = written_numbers(text, mark)
    if not numbers:
        return Refusal(code=RefusalCode.NO_NUMBER, message=f"no number in {shortened(text)!r}")
    if len(numbers) > 1:
        shown = tuple(" or ".join(number.shown) for number in numbers[:5])
        message = f"several numbers in {shortened(text)!r}: {', '.join(shown)}; give one, or a range such as 3-5"
        return Refusal(code=RefusalCode.SEVERAL_NUMBERS, message=message)
    number = numbers[0]
    if len(number.readings) > 1:
        return ambiguous(text, number)
    low, high = number.readings[0]
    if max(abs(low), abs(high)) > MAGNITUDE_MAX:
        return Refusal(code=RefusalCode.OUT_OF_RANGE, message=f"{shortened(text)!r} is over {MAGNITUDE_MAX:g}")
    whole = whole_quantity(text, number, table, mark=mark)
    if whole.doubt:
        message = f"{shortened(text)!r}: {whole.doubt}; give the value in {unit or 'plain numbers'}"
        return Refusal(code=RefusalCode.NOT_UNDERSTOOD, message=message)
    if not whole.units:
        return _without_unit(text, whole, low, high, unit=unit, table=table)
    written = next((name for name in whole.units if table.same_kind(name, unit)), whole.units[0])
    quantity = whole.quantity(low, high, written)
    return quantity if isinstance(quantity, Refusal) else table.convert(quantity, unit)


def _without_unit(
    text: str, whole: Whole, low: float, high: float, *, unit: str, table: UnitTable
) -> Quantity | Refusal:
    """Return the value of a text without a known unit; words directly behind the number must be no unknown unit."""
    rest = text[whole.end :].strip(" \u00a0.!")
    if rest:
        message = f"{shortened(rest)!r} is not a unit that is known here; give the value in {unit or 'plain numbers'}"
        return Refusal(code=RefusalCode.UNKNOWN_UNIT, message=message)
    problem = table.problem(unit)
    if problem:
        return Refusal(code=RefusalCode.UNKNOWN_UNIT, message=problem)
    return whole.quantity(low, high, unit)


def ambiguous(text: str, number: WrittenNumber) -> Refusal:
    """Return the refusal of a number that may mean more than one thing."""
    written = text[number.start : number.end]
    return Refusal(
        code=RefusalCode.AMBIGUOUS_NUMBER,
        message=f"{written!r} may be {' or '.join(number.shown)}, and nothing tells which; leave out the separator",
        readings=number.shown,
    )


def shortened(text: str) -> str:
    """Return a text on one line, cut to 60 characters, for a message."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
