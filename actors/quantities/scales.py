"""Scale words, such as "million": what they multiply a number by, in the languages that documents come in."""

import re
from collections.abc import Mapping

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
"""Words that mean one number in English, and another one in languages of the long scale."""
_TWO_WORDS = ("mil milhões", "mil milhoes", "mil millones", "mil million", "thousand million")

SCALES: Mapping[str, float] = {word.lower(): factor for factor, words in _WORDS.items() for word in words.split()}
"""The factor of each word that has one meaning, in lower case."""

_BY_LENGTH = sorted([*SCALES, *_SHORT_SCALE, *_TWO_WORDS], key=len, reverse=True)
_ANY_WORD = "|".join(_BY_LENGTH).replace(" ", "[ \u00a0]")
_WORD = re.compile(rf"[ \u00a0\u202f-]?(?P<word>{_ANY_WORD})(?:\.(?=\s|$))?", re.IGNORECASE)
_LETTER = re.compile(r"[ \u00a0\u202f]?(?P<word>[MmBbTt])(?![^\W\d_])")
_LETTERS: Mapping[str, float] = {"m": 1e6, "b": 1e9, "t": 1e12}
_ABBREVIATED = frozenset({"mio", "mrd", "mln", "mld", "mia", "mn", "bn", "tsd", "tys", "тыс", "млн", "млрд"})
"""Words behind which a point is no end of a sentence."""
_LONG_SCALE = frozenset({"de", "es", "fr", "it", "nl", "pl", "pt"})


def scale_at(text: str, start: int, *, money: bool, language: str) -> tuple[int, tuple[float, ...]]:
    """Return where the scale word at a place ends, and the factors that it may mean; (start, (1,)) if there is none.

    `k` and `M` count only directly behind the number, unless it is an amount of money: `5 m` is a length. A single
    letter `m`, `B` or `T` counts only for money.
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
    """Tell whether a word ends here; words of Chinese, Japanese and Korean have no mark at their end."""
    after, last = text[end : end + 1], text[end - 1]
    return not (after.isalpha() and last < "\u2e80" and after < "\u2e80")
