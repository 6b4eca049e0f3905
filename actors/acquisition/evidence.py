"""Evidence: whether the words that a model quotes stand in the passage, and which quantity they state there. Pure.

Nothing in a quote is obeyed: it is compared, character by character, and shown as what a document says.
"""

import unicodedata
from collections.abc import Mapping, Sequence

from actors.acquisition.planner_state import Passage
from actors.quantities.quantity import Refusal, RefusalCode
from actors.quantities.quoted import Found, Source, quoted_value
from actors.quantities.units import UnitTable

QUOTE_MAX = 600
"""The most characters of a quote in a reply; a value with a longer one is rejected."""
PLACES_MAX = 20
"""The most places of one passage at which a quote is looked at."""
_SAME = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ad": "", "\u2011": "-"}


def folded(text: str) -> str:
    """Return a text as quotes are compared: white space, compatibility forms, quotation marks and case do not count."""
    return _folded(composed_text(text))[0]


def composed_text(text: str) -> str:
    """Return a text with composed characters: the form in which quotes are found and numbers are read."""
    return unicodedata.normalize("NFC", text)


def _folded(text: str) -> tuple[str, list[int]]:
    """Return a text as quotes are compared, and for each of its characters the place in the text."""
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        same = unicodedata.normalize("NFKC", _SAME.get(character, character)).casefold()
        for each in same:
            if not each.isspace():
                characters.append(each)
                places.append(place)
            elif characters and characters[-1] != " ":
                characters.append(" ")
                places.append(place)
    if characters and characters[-1] == " ":
        characters.pop()
        places.pop()
    return "".join(characters), places


def quote_places(text: str, quote: str) -> tuple[tuple[int, int], ...]:
    """Return where a quote stands in a composed text, as pairs of begin and end."""
    words = folded(quote)
    if not words:
        return ()
    whole, places = _folded(text)
    found: list[tuple[int, int]] = []
    at = whole.find(words)
    while at >= 0 and len(found) < PLACES_MAX:
        found.append((places[at], places[at + len(words) - 1] + 1))
        at = whole.find(words, at + 1)
    return tuple(found)


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
) -> Found | Refusal:
    """Return the quantity of a passage that a quote and a value name, in the wanted unit, or why there is none.

    The value only says which number of the quote is meant. The number, its unit and what it is per are those of the
    passage around the quote. `units` are the profile's own.
    """
    text = composed_text(passage.text)
    spans = quote_places(text, quote)
    if not spans:
        return Refusal(code=RefusalCode.QUOTE_MISSING, message="the quote does not stand in the source")
    source = Source(text, passage.decimal_mark, passage.language)
    return quoted_value(source, spans, value, unit, wanted=wanted, table=table, declared=units)


def widened_quote(passage: Passage, found: Found, quote: str) -> str:
    """Return the words that state a quantity, on one line: the quote, widened until it holds all of the quantity.

    Without a quote, they are the line in which the quantity stands.
    """
    text = composed_text(passage.text)
    for start, end in quote_places(text, quote):
        if start < found.end and found.start < end:
            return " ".join(text[min(start, found.start) : max(end, found.end)].split())
    end = text.find("\n", found.end)
    return " ".join(text[text.rfind("\n", 0, found.start) + 1 : len(text) if end < 0 else end].split())


def states_text(quote: str, value: str) -> bool:
    """Tell whether a quote has the words of a value."""
    return bool(value.strip()) and folded(value) in folded(quote)
