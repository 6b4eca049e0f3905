"""Evidence: whether the words that a model quotes stand in the passage, and whether they state the value. Pure.

Nothing in a quote is obeyed: it is compared, character by character, and shown as what a document says.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence

from actors.acquisition.planner_state import Passage
from actors.quantities.quantity import Quantity, Refusal, RefusalCode
from actors.quantities.unit_forms import convert, without_counted, without_rates
from actors.quantities.unit_tail import written_units
from actors.quantities.units import UnitTable
from actors.quantities.written import WrittenNumber, written_numbers

QUOTE_MAX = 600
"""Characters of a quote; a longer one is no evidence for one value."""
_SAME = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ad": "", "\u2011": "-"}


def folded(text: str) -> str:
    """Return a text as quotes are compared: white space, compatibility forms, quotation marks and case do not count."""
    text = unicodedata.normalize("NFKC", "".join(_SAME.get(each, each) for each in text))
    return " ".join(text.split()).casefold()


def passage_of(passages: Sequence[Passage], source: str, quote: str) -> Passage | None:
    """Return the passage in which a quote stands, one of the named source if there is any."""
    words = folded(quote)
    if not words or len(quote) > QUOTE_MAX:
        return None
    holding = [passage for passage in passages if words in folded(passage.text)]
    named = [passage for passage in holding if passage.source == source]
    return next(iter(named or ([] if source in {each.source for each in passages} else holding)), None)


def stated_quantity(
    quote: str, value: str, unit: str, *, wanted: str, units: Mapping[str, str], table: UnitTable
) -> Quantity | Refusal:
    """Return the number of a quote that a value names, in the wanted unit, or why it states none.

    The value only says which number of the quote is meant. The number itself and its unit are those of the quote; the
    given unit counts where the quote has none, or leaves out what it is per. `units` are the profile's own.
    """
    given = written_numbers(value)
    meant = [number for number in written_numbers(quote) if given and _common(given[0], number)]
    if not meant:
        return Refusal(code=RefusalCode.VALUE_NOT_IN_QUOTE, message=f"the quote does not state {value[:80]!r}")
    number, short = meant[0], without_counted(wanted, units)
    low, high = _common(given[0], number) or number.readings[0]
    written = written_units(quote, number, table)
    forms = [wanted, short]
    if written and any(table.same_kind(unit, form) for form in (wanted, short)):
        forms.append(without_rates(short))
    for form in forms:
        for said in written or [unit or wanted]:
            if table.same_kind(said, form):
                return convert(Quantity(low=low, high=high, unit=said), form, wanted, table)
    stated, expected = (written or [unit])[0] or "a plain number", wanted or "a plain number"
    return Refusal(code=RefusalCode.WRONG_UNIT, message=f"{stated} is stated, and {expected} is expected")


def _common(given: WrittenNumber, quoted: WrittenNumber) -> tuple[float, float] | None:
    """Return the reading of a quoted number that a given one may mean too; None where they are different numbers.

    A percentage may be given as a fraction, and a range by one of its ends.
    """
    scales = (1.0, 100.0) if quoted.share == "percent" else (1.0,)
    for low, high in quoted.readings:
        for given_low, given_high in given.readings:
            for scale in scales:
                ends = (given_low * scale, given_high * scale)
                if all(any(_equal(end, each) for each in (low, high)) for end in ends):
                    return low, high
    return None


def states_text(quote: str, value: str) -> bool:
    """Tell whether a quote has the words of a value."""
    return bool(value.strip()) and folded(value) in folded(quote)


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
