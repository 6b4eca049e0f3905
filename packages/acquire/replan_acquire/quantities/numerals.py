"""Numerals: written numbers, the scale words beside them, and the decimal mark of a document.

`1.234` is about one in an English text, but over a thousand in a Portuguese text. If all unambiguous numbers of a
document use the same decimal mark, it is the mark of the document. If some use a point and others a comma, the document
has no mark. A document without unambiguous numbers has the decimal mark of its language.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Literal, NamedTuple

DecimalMark = Literal["point", "comma", ""]
"""The character before decimals in a text, a point or a comma; empty if it is unknown."""

_SPACES = " \u00a0\u2007\u2009\u200a\u202f"
_SPACED = rf"\d{{1,3}}(?:[{_SPACES}]\d{{3}}(?!\d))+(?:[.,\u066b]\d+)?"
_RUN = r"\d+(?:[.,'\u2019٬\u066b]\d+)*"
NUMERAL = re.compile(rf"(?<![\d.,])(?:{_SPACED}|{_RUN})")
"""The pattern of a numeral in a text that the function `fold` has returned. A plain space may separate thousands."""
DIGITS_MAX = 40
"""The largest number of digits in a numeral. A longer row of digits is an identifier."""

_DATES = re.compile(
    r"(?<![\d.])(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}\.\d{1,2}\.(?:19|20)\d\d|\d{1,2}:\d\d(?::\d\d)?)(?![\d])"
)


class Readings(NamedTuple):
    """The two meanings of a numeral: with a decimal point, and with a decimal comma.

    They are equal if the numeral is unambiguous.
    """

    point: float
    """The meaning if the decimal mark is a point."""
    comma: float
    mark: DecimalMark = ""

    @property
    def certain(self) -> bool:
        """Whether both readings are equal."""
        return self.point == self.comma


def fold(text: str) -> str:
    """Return a text in which digits, minus signs and full-width letters are replaced by their ASCII characters.

    Each character of a date becomes `_`. The length stays the same.
    """
    folded = text if text.isascii() else "".join(map(_fold_character, text))
    return _DATES.sub(lambda match: "_" * len(match[0]), folded)


def _fold_character(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if "\uff01" <= character <= "\uff5e":
        return chr(ord(character) - 0xFEE0)
    return "-" if character == "\u2212" else character


def readings(numeral: str) -> Readings | None:
    """Return the possible meanings of a numeral; None if it is not a number, such as a version or an identifier."""
    digits = re.sub(r"\D", "", numeral)
    if len(digits) > DIGITS_MAX:
        return None
    head, decimal, tail = numeral.rpartition("\u066b")
    if decimal:
        if "\u066b" in head or re.search(r"\D", tail):
            return None
        value = _number(re.sub(r"[^\d]", "", head), tail)
        return Readings(value, value)
    grouped = re.sub(rf"(?<=\d)[{_SPACES}'\u2019٬](?=\d{{3}}(?!\d))", "", numeral)
    marks = re.findall(r"\D", grouped)
    if not marks:
        return Readings(float(grouped), float(grouped))
    if set(marks) - {".", ","}:
        return None
    if len(set(marks)) == 2:
        return _read_mixed_marks(grouped, marks)
    mark: DecimalMark = "point" if marks[0] == "." else "comma"
    other: DecimalMark = "comma" if mark == "point" else "point"
    if len(marks) > 1:
        return _certain(float(digits), other) if _groups(grouped, marks[0]) else None
    whole, _, decimals = grouped.partition(marks[0])
    value = _number(whole, decimals)
    if grouped != numeral or len(decimals) != 3 or len(whole) > 3 or whole.startswith("0"):
        return _certain(value, mark)
    thousands = float(digits)
    return Readings(value, thousands) if mark == "point" else Readings(thousands, value)


def _certain(value: float, mark: DecimalMark) -> Readings:
    return Readings(value, value, mark)


def _read_mixed_marks(numeral: str, marks: list[str]) -> Readings | None:
    """Return the meaning of a numeral that contains points and commas; None if it is not a number.

    The last mark precedes the decimals, and the other mark separates thousands.
    """
    last = marks[-1]
    if marks.count(last) > 1 or len(set(marks[:-1])) > 1:
        return None
    whole, _, decimals = numeral.rpartition(last)
    if not _groups(whole, marks[0]):
        return None
    return _certain(_number(re.sub(r"\D", "", whole), decimals), "point" if last == "." else "comma")


def _groups(numeral: str, mark: str) -> bool:
    """Return whether a mark separates groups of three digits.

    Groups of two before the last group are also allowed, as in India.
    """
    first, *rest = numeral.split(mark)
    sizes = [len(group) for group in rest]
    return (
        1 <= len(first) <= 3 and sizes[-1] == 3 and (set(sizes) == {3} or (len(first) <= 2 and set(sizes[:-1]) == {2}))
    )


def _number(whole: str, decimals: str) -> float:
    return float(f"{whole or '0'}.{decimals or '0'}")


_WORDS: Mapping[float, str] = {
    12: "dozen dozens Dutzend douzaine douzaines docena docenas",
    1e2: "hundred hundreds",
    1e3: "thousand thousands mil tausend tsd mille mila duizend tys тыс тысяч тысячи k 千 천",
    1e4: "万 萬 만",
    1e5: "lakh lakhs lac",
    1e6: "million millions mio mn mln milhão milhões milhao milhoes millón millones millon millionen milione milioni "
    "miljoen miljoner млн миллион миллиона миллионов mm 百万 百萬",
    1e7: "crore crores 千万",
    1e8: "億 亿 억",
    1e9: "bn bln mrd mia mld milliarde milliarden milliard milliards miliardo miliardi miljard miljarder "
    "bilhão bilhões bilhao bilhoes млрд миллиард миллиарда миллиардов",
    1e12: "tn trn bilião biliões biliao bilioes billón billones billionen trilhão trilhões 兆 조",
}
_SHORT_SCALE: Mapping[str, tuple[float, float]] = {
    "billion": (1e9, 1e12),
    "billions": (1e9, 1e12),
    "trillion": (1e12, 1e18),
    "trillions": (1e12, 1e18),
}
"""Words for large numbers. Each word has two values: its number in English, and its number in languages with the long
scale."""
_TWO_WORDS = ("mil milhões", "mil milhoes", "mil millones", "mil million", "thousand million")

SCALES: Mapping[str, float] = {word.lower(): factor for factor, words in _WORDS.items() for word in words.split()}
"""For each word that has only one meaning as a factor, such as `million`: this factor. The words are in lower case."""

_BY_LENGTH = sorted([*SCALES, *_SHORT_SCALE, *_TWO_WORDS], key=len, reverse=True)
_ANY_WORD = "|".join(_BY_LENGTH).replace(" ", "[ \u00a0]")
_WORD = re.compile(rf"[ \u00a0\u202f-]?(?P<word>{_ANY_WORD})(?:\.(?=\s|$))?", re.IGNORECASE)
_LETTER = re.compile(r"[ \u00a0\u202f]?(?P<word>[MmBbTt])(?![^\W\d_])")
_LETTERS: Mapping[str, float] = {"m": 1e6, "b": 1e9, "t": 1e12}
_ABBREVIATED = frozenset({"mio", "mrd", "mln", "mld", "mia", "mn", "bn", "tsd", "tys", "тыс", "млн", "млрд"})
"""Abbreviations. A point after an abbreviation does not end a sentence."""
_LONG_SCALE = frozenset({"de", "es", "fr", "it", "nl", "pl", "pt"})


def scale_at(text: str, start: int, *, money: bool, language: str) -> tuple[int, tuple[float, ...]]:
    """Return the offset after the scale word at `start`, and its possible factors; `(start, (1,))` for no scale word.

    If the number is not an amount of money, `k` and `M` are scales only directly after it, because `5 m` is a length.
    The letters `m`, `B` and `T` are scales only for money.
    """
    match = _WORD.match(text, start)
    if match and _ends(text, match.end("word")):
        word = match["word"].lower().replace("\u00a0", " ")
        end = match.end() if word in _ABBREVIATED else match.end("word")
        single = len(word) == 1 and word.isascii()
        if word in _TWO_WORDS:
            return end, (1e9,)
        if word in _SHORT_SCALE:
            short, long = _SHORT_SCALE[word]
            return end, (short, long) if language in _LONG_SCALE else (short,)
        length = word == "mm" and match["word"] != "MM"
        if not length and (not single or money or match.start("word") == start):
            return end, (SCALES[word],)
    match = _LETTER.match(text, start)
    if match and (money or (match["word"] == "M" and match.start("word") == start)):
        letter = match["word"].lower()
        thousands = match["word"] == "T" and language in ("", "de")  # German companies write T€ for a thousand euros.
        return match.end(), (1e3, _LETTERS[letter]) if thousands else (_LETTERS[letter],)
    return start, (1.0,)


def _ends(text: str, end: int) -> bool:
    """Return whether a word ends at the offset `end`. In Chinese, Japanese and Korean, a word may end anywhere."""
    after, last = text[end : end + 1], text[end - 1]
    return not (after.isalpha() and last < "\u2e80" and after < "\u2e80")


EVIDENCE_MAX = 200_000
"""The largest number of characters of a document that are read to determine the document's decimal mark and
language."""

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
_LANGUAGE_WORDS = {language: frozenset(words.split()) for language, words in _SMALL_WORDS.items()}
_LETTER_RUN = re.compile(r"[^\W\d_]+")
_NOT_DECIMAL = re.compile(
    r"(?m)(?:^[#>*\s-]*\d+(?:[.,]\d+)*\.?(?=\s+[^\W\d])"
    r"|\b(?:v|version|versão|section|secção|figure|figura|fig|table|tabela|chapter|abschnitt|§)\.?\s*\d+(?:[.,]\d+)*)",
    re.IGNORECASE,
)


def decimal_mark(text: str, language: str = "") -> DecimalMark:
    """Return the decimal mark of a document.

    The result is empty if the numbers contradict each other, or if they and the language do not show the mark.
    `language` is a code such as `pt` or `de-CH`; empty if unknown.
    """
    votes = _find_marks(text[:EVIDENCE_MAX])
    if votes:
        return votes.pop() if len(votes) == 1 else ""
    return mark_of_language(language)


def _find_marks(text: str) -> set[DecimalMark]:
    found: set[DecimalMark] = set()
    folded = _NOT_DECIMAL.sub(lambda match: "_" * len(match[0]), fold(text))
    for match in NUMERAL.finditer(folded):
        before = folded[match.start() - 1 : match.start()]
        read = readings(match[0]) if not before.isalpha() else None
        if read and read.mark:
            found.add(read.mark)
    return found


def mark_of_language(language: str) -> DecimalMark:
    """Return the decimal mark of a language; empty for an unknown language."""
    tag = language.lower().replace("_", "-")
    if tag in _OTHER_REGIONS:
        return _OTHER_REGIONS[tag]
    root = tag.partition("-")[0]
    return "point" if root in _POINT else "comma" if root in _COMMA else ""


def language_of(text: str) -> str:
    """Return the language of a text, recognised by frequent words; empty if they are too few or not clear."""
    counts: Counter[str] = Counter()
    for word, count in Counter(match[0].lower() for match in _LETTER_RUN.finditer(text[:EVIDENCE_MAX])).items():
        for language, words in _LANGUAGE_WORDS.items():
            if word in words:
                counts[language] += count
    ranked = counts.most_common(2)
    first = ranked[0][1] if ranked else 0
    second = ranked[1][1] if len(ranked) > 1 else 0
    clear = (first >= 2 and not second) or first >= 3 * max(1, second) or (first >= 4 and first >= 1.3 * second)
    return ranked[0][0] if clear else ""
