"""The decimal mark of a document, from its own evidence: its other numbers, and else its language.

`1.234` is about one in an English text and over a thousand in a Portuguese one. A document whose unambiguous numbers
all use one mark has that mark; one that uses both has none; one without such numbers has the mark of its language.
"""

import re
from collections import Counter
from collections.abc import Mapping

from actors.quantities.numerals import NUMERAL, DecimalMark, fold, readings

EVIDENCE_MAX = 200_000
"""Characters of a document that are looked at."""

_POINT = frozenset({"en", "ja", "zh", "ko", "th", "he", "hi", "ms"})
_COMMA_LIST = "pt de fr es it nl pl cs sk sv da nb nn no fi el ro hu bg hr sl sr uk ru tr id ca gl eu et lv lt is vi"
_COMMA = frozenset(_COMMA_LIST.split())
_OTHER_REGIONS: Mapping[str, DecimalMark] = {
    "es-mx": "point",
    "es-us": "point",
    "de-ch": "point",
    "it-ch": "point",
    "de-li": "point",
    "en-za": "comma",
}
_SMALL_WORDS: Mapping[str, str] = {
    "en": "the of and to in is for that with are on by this from which it as be has have was were each an its than not "
    "or per",
    "pt": "o os as de do da dos das e em no na nos nas que para com um uma por não são mais ao",
    "es": "el los las de del y en que para con un una por no es son más se al lo",
    "fr": "le les des du de et en dans que pour avec un une par est sont plus au aux sur",
    "de": "der die das und in den von zu mit für auf ist ein eine im des dem nicht sind",
    "it": "il lo gli i di del della e in che per con un una non è sono più al nel",
    "nl": "de het een van en in op voor met te is dat zijn niet aan er door",
}
_WORDS = {language: frozenset(words.split()) for language, words in _SMALL_WORDS.items()}
_LETTERS = re.compile(r"[^\W\d_]+")
_NOT_DECIMAL = re.compile(
    r"(?m)(?:^[#>*\s-]*\d+(?:[.,]\d+)*\.?(?=\s+[^\W\d])"
    r"|\b(?:v|version|versão|section|secção|figure|figura|fig|table|tabela|chapter|abschnitt|§)\.?\s*\d+(?:[.,]\d+)*)",
    re.IGNORECASE,
)


def decimal_mark(text: str, language: str = "") -> DecimalMark:
    """Return the decimal mark of a document; empty where its numbers contradict each other, or nothing tells.

    `language` is a code such as `pt` or `de-CH`; empty if it is not known.
    """
    votes = _votes(text[:EVIDENCE_MAX])
    if votes:
        return votes.pop() if len(votes) == 1 else ""
    return mark_of_language(language)


def _votes(text: str) -> set[DecimalMark]:
    found: set[DecimalMark] = set()
    folded = _NOT_DECIMAL.sub(lambda match: "_" * len(match[0]), fold(text))
    for match in NUMERAL.finditer(folded):
        before = folded[match.start() - 1 : match.start()]
        read = readings(match[0]) if not before.isalpha() else None
        if read and read.mark:
            found.add(read.mark)
    return found


def mark_of_language(language: str) -> DecimalMark:
    """Return the decimal mark that a language's texts use; empty for an unknown language."""
    tag = language.lower().replace("_", "-")
    if tag in _OTHER_REGIONS:
        return _OTHER_REGIONS[tag]
    root = tag.partition("-")[0]
    return "point" if root in _POINT else "comma" if root in _COMMA else ""


def language_of(text: str) -> str:
    """Return the language of a text by its most frequent small words; empty where it is too short or not clear."""
    counts: Counter[str] = Counter()
    for word, count in Counter(match[0].lower() for match in _LETTERS.finditer(text[:EVIDENCE_MAX])).items():
        for language, words in _WORDS.items():
            if word in words:
                counts[language] += count
    ranked = counts.most_common(2)
    first = ranked[0][1] if ranked else 0
    second = ranked[1][1] if len(ranked) > 1 else 0
    clear = (first >= 2 and not second) or first >= 3 * max(1, second) or (first >= 4 and first >= 1.3 * second)
    return ranked[0][0] if clear else ""
