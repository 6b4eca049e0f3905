"""Finds the numbers and ranges of numbers in a text, each with its sign, scale word, percent sign and currency."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from replan_acquire.quantities.numerals import NUMERAL, DecimalMark, fold, readings, scale_at
from replan_acquire.quantities.quantity import plain
from replan_acquire.quantities.units import SIGNS, find_currencies

TEXT_MAX = 20_000

_GAP = "[ \u00a0\u2009\u202f]?"
_SIGNS = "|".join(re.escape(sign) for sign in sorted(SIGNS, key=len, reverse=True))
_BEFORE = re.compile(rf"(?P<name>(?<![A-Za-z]){_SIGNS}|(?<![A-Za-z])[A-Z]{{3}}){_GAP}$")
_AFTER = re.compile(rf"{_GAP}(?P<name>(?:{_SIGNS}|[A-Z]{{3}})(?![A-Za-z$]))")
_MONEY_AFTER = re.compile(rf"{_GAP}[A-Za-z]{{1,2}}{_GAP}(?:{_SIGNS}|(?:EUR|USD|GBP)\b)")
_OF_MONEY = re.compile(rf"{_GAP}(?:(?:de|di|of)[ \u00a0]|d['\u2019])(?={_SIGNS})")
_PERCENT = re.compile(
    r"[ \u00a0\u202f]?(?P<sign>%|٪|‰"
    r"|(?:percent|per cent|por cento|por ciento|Prozent|pour cent|per cento|pct)\b(?! points?))"
)
_POWER = re.compile(r"(?:[eE](?P<e>[+-]?\d{1,3})(?!\w)|[ \u00a0]?[×x*][ \u00a0]?10(?:\^|\*\*)(?P<p>-?\d{1,3})(?!\d))")
_MINUS = re.compile(r"\b(?:minus|moins|menos)[ \u00a0]$", re.IGNORECASE)
_FRACTIONS = {"½": 0.5, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 0.25, "¾": 0.75}
_LINK = re.compile(
    r"[ \u00a0]?(?P<link>-|\u2013|—|\u2012|~|\uff5e|to|through|a|à|až|até|hasta|bis|tot|do|до|至|到)[ \u00a0]?"
)
_BETWEEN = re.compile(r"\b(?:between|entre|zwischen|tra|fra|tussen)[ \u00a0]$", re.IGNORECASE)
_AND = re.compile(r"[ \u00a0](?:and|e|y|et|und|en)[ \u00a0]")
_PLUS_MINUS = re.compile(r"[ \u00a0]?(?:±|\+/-)[ \u00a0]?")


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number, or a range of numbers, in a text."""

    start: int
    """The offset at which the number begins, including its sign or currency."""
    end: int
    """The offset at which the number ends, including its scale word, percent sign or currency."""
    readings: tuple[tuple[float, float], ...]
    """The possible meanings, each as (low, high). There are several if the number is ambiguous."""
    currencies: tuple[str, ...] = ()
    """The currencies that the sign or code may mean; empty if no currency is written."""
    share: str = ""
    """`percent` or `permille` if the text has this sign or word after the number; otherwise empty."""
    scaled: bool = False
    """Whether the text has a scale word or a power of ten after the number."""
    spaced: bool = False
    """Whether the number is from an English text and has plain spaces in it, so that it may be two numbers."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The readings for people, such as `1.234` and `1,234`."""
        return tuple(plain(low) if low == high else f"{plain(low)}\u2013{plain(high)}" for low, high in self.readings)


@dataclass(frozen=True, slots=True)
class _Part:
    """One number, before ranges are joined. `values` are the readings with a decimal point and with a decimal comma."""

    start: int
    end: int
    values: tuple[float, float]
    factors: tuple[float, ...]
    currencies: tuple[str, ...]
    share: str
    spaced: bool = False

    @property
    def scaled(self) -> bool:
        return self.factors != (1.0,)

    def readings(self, factors: tuple[float, ...]) -> list[float]:
        return [value * factor for value in self.values for factor in factors]


def find_numbers(text: str, mark: DecimalMark = "", language: str = "") -> list[WrittenNumber]:
    """Return the numbers of a text, in their order.

    `mark` and `language` (a code such as `pt`) decide what ambiguous numbers mean. Dates, times of day, versions and
    numbers inside words are not returned.
    """
    folded = fold(text[:TEXT_MAX])
    return list(_join_ranges(folded, list(_parts(folded, mark, language))))


def _parts(text: str, mark: DecimalMark, language: str) -> Iterator[_Part]:
    """Yield the numbers of a folded text."""
    previous: _Part | None = None
    for match in NUMERAL.finditer(text):
        read, last = readings(match[0]), previous.end if previous else 0
        start, end = match.span()
        if read is None or start < last or _in_word(text, start):
            continue
        if mark and not read.certain:
            value = read.point if mark == "point" else read.comma
            read = read._replace(point=value, comma=value)
        values = (read.point, read.comma)
        if text[end : end + 1] in _FRACTIONS and read.certain and read.point == int(read.point):
            values = (read.point + _FRACTIONS[text[end]],) * 2
            end += 1
        before = _BEFORE.search(text, max(last, start - 6), start)
        currencies = find_currencies(before["name"]) if before else ()
        start = before.start() if before and currencies else start
        if text[start - 1 : start] == "-" and (start == 1 or text[start - 2].isspace() or text[start - 2] in "(:="):
            start, values = start - 1, (-values[0], -values[1])
        elif minus := _MINUS.search(text, max(last, start - 7), start):
            start, values = minus.start(), (-values[0], -values[1])
        money = bool(previous and previous.currencies and _LINK.fullmatch(text[last:start]))
        spaced = language == "en" and " " in match[0]
        previous = _read_decorations(
            text, _Part(start, end, values, (1.0,), currencies, "", spaced), language, money=money
        )
        yield previous


def _in_word(text: str, start: int) -> bool:
    """Return whether a number is a part of a word such as `A4`.

    The code of a currency before the number is no such word.
    """
    if not (text[start - 1 : start].isalpha() and text[start - 1].isascii()):
        return False
    match = _BEFORE.search(text, max(0, start - 6), start)
    return not (match and find_currencies(match["name"]))


def _read_decorations(text: str, part: _Part, language: str, *, money: bool) -> _Part:
    """Return the number together with the power of ten, scale word, percent sign or currency that follows it."""
    end, factors, currencies = part.end, part.factors, part.currencies
    if power := _POWER.match(text, end):
        exponent = int(power["e"] or power["p"])
        end, factors = power.end(), (10.0**exponent if abs(exponent) <= 300 else float("inf"),)
    money = money or bool(currencies) or bool(_MONEY_AFTER.match(text[end : end + 12]))
    scaled, scales = scale_at(text, end, money=money, language=language)
    if scaled > end:
        end, factors = scaled, tuple(factor * scale for factor in factors for scale in scales)
    share = ""
    if percent := _PERCENT.match(text, end):
        end, share = percent.end(), "permille" if percent["sign"] == "‰" else "percent"
    elif not currencies:
        linked = _OF_MONEY.match(text[end : end + 20])
        after = _AFTER.match(text, end + linked.end() if linked else end)
        if after and find_currencies(after["name"]):
            end, currencies = after.end(), find_currencies(after["name"])
    return replace(part, end=end, factors=factors, currencies=currencies, share=share)


def _join_ranges(text: str, parts: list[_Part]) -> Iterator[WrittenNumber]:
    """Yield a range for each two numbers that the text joins, as in `3-5`, and every other number by itself."""
    left = 0
    while left < len(parts):
        if left + 1 < len(parts) and (both := _range(text, parts[left], parts[left + 1])):
            yield both
            left += 2
            continue
        part = parts[left]
        values = dict.fromkeys((value, value) for value in part.readings(part.factors))
        yield WrittenNumber(part.start, part.end, tuple(values), part.currencies, part.share, part.scaled, part.spaced)
        left += 1


def _range(text: str, low: _Part, high: _Part) -> WrittenNumber | None:
    """Return the range that two numbers state; None if they state no range."""
    between = text[low.end : high.start]
    if text[high.start : high.start + 1] == "-":
        return None
    shares, currencies = {low.share, high.share} - {""}, {low.currencies, high.currencies} - {()}
    if len(shares) + len(currencies) > 1:
        return None
    joined = _LINK.fullmatch(between) or (_AND.fullmatch(between) and _BETWEEN.search(text[: low.start][-12:]))
    around = _PLUS_MINUS.fullmatch(between)
    if not (joined or around) or (around and low.share != high.share):
        return None
    shared = low.factors == (1.0,) and high.factors != (1.0,)
    pairs = list(
        itertools.chain.from_iterable(
            _pairs(low, high, factor, low_factor, around=bool(around))
            for factor in high.factors
            for low_factor in ((factor, 1.0) if shared else low.factors)
        )
    )
    if not pairs:
        return None
    if shared:  # In `3-5 million`, the first number has the same scale, unless that would not be a range.
        pairs = [pair for pair in pairs if pair[2]] or pairs
    found = dict.fromkeys((first, last) for first, last, _ in pairs)
    currency, share = low.currencies or high.currencies, low.share or high.share
    scaled, spaced = low.scaled or high.scaled, low.spaced or high.spaced
    return WrittenNumber(low.start, high.end, tuple(found), currency, share, scaled, spaced)


def _pairs(
    low: _Part, high: _Part, factor: float, low_factor: float, *, around: bool
) -> Iterator[tuple[float, float, bool]]:
    """Yield (low, high, whether both have the same scale) for each decimal mark with which the two form a range."""
    for first, last in zip(low.values, high.values, strict=True):
        start, end = first * low_factor, last * factor
        if around:
            yield start - abs(end), start + abs(end), low_factor == factor
        elif start <= end:
            yield start, end, low_factor == factor
