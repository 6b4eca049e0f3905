"""Evidence: whether the words that a model quotes stand in the passage, and whether they state the value. Pure.

Nothing in a quote is obeyed: it is compared, character by character, and shown as what a document says.
"""

import unicodedata
from collections.abc import Mapping, Sequence

from actors.acquisition.planner_state import Passage
from actors.quantities.quantity import Quantity, Refusal
from actors.quantities.quoted import quoted_value
from actors.quantities.unit_forms import short_forms, without_counted, without_rates
from actors.quantities.units import UnitTable

QUOTE_MAX = 600
"""The most characters of a quote in a reply; a value with a longer one is rejected."""
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
    passage: Passage, quote: str, value: str, unit: str, *, wanted: str, units: Mapping[str, str], table: UnitTable
) -> Quantity | Refusal:
    """Return the number of a quote that a value names, in the wanted unit, or why it states none.

    The value only says which number of the quote is meant. The number itself and its unit are those of the quote; the
    given unit counts where the quote has none, or leaves out what it is per. `units` are the profile's own.
    """
    short = without_counted(wanted, units)
    forms = [wanted, *short_forms(wanted, units)]
    if unit and any(table.same_kind(unit, form) for form in (wanted, short)):
        forms.append(without_rates(short))
    first: Refusal | None = None
    for form in dict.fromkeys(forms):
        said = unit if form == wanted else form
        read = quoted_value(quote, value, said, form, table, mark=passage.decimal_mark, language=passage.language)
        if isinstance(read, Quantity):
            return read.model_copy(update={"unit": wanted})
        first = first or read
    assert first is not None, "there is at least one form"
    return first


def states_text(quote: str, value: str) -> bool:
    """Tell whether a quote has the words of a value."""
    return bool(value.strip()) and folded(value) in folded(quote)
