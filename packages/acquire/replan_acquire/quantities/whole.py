"""Reads the whole quantity to which a number in a text belongs: number, scale, currency, unit and rates. Pure.

A rate is a unit after "per", such as `month` in `20 EUR per month`. If the words beside the number cannot be read as a
part of the quantity, such as `for a family of four`, the quantity is doubtful. The number of a doubtful quantity is not
used.
"""

import re
from dataclasses import dataclass

from replan_acquire.quantities.headings import heading_before, quote_text
from replan_acquire.quantities.numerals import DecimalMark
from replan_acquire.quantities.quantity import MAGNITUDE_MAX, Quantity, Refusal, RefusalCode
from replan_acquire.quantities.unit_forms import ADVERBS, product_at, rates_at
from replan_acquire.quantities.unit_words import STOP, time_word, unit_word
from replan_acquire.quantities.units import MINOR, UnitTable, tidy
from replan_acquire.quantities.written import WrittenNumber

_SPACE = "[ \u00a0\u2009\u202f]"
_MINOR = re.compile(
    rf"{_SPACE}?(?P<word>{'|'.join(re.escape(word) for word in sorted(MINOR, key=len, reverse=True))})(?![^\W\d_])"
)
_CELSIUS = re.compile(
    rf"{_SPACE}?(?:°{_SPACE}?C|℃|degrees?{_SPACE}(?:Celsius|centigrade)|Grad{_SPACE}Celsius|degrés?{_SPACE}Celsius"
    rf"|grados?{_SPACE}Celsius)(?!\w)",
    re.IGNORECASE,
)
_FAHRENHEIT = re.compile(rf"{_SPACE}?(?:°{_SPACE}?F|℉|degrees?{_SPACE}Fahrenheit)(?!\w)", re.IGNORECASE)
_GAP = re.compile(rf"-(?=[^\W\d_])|{_SPACE}?")
_OF = re.compile(rf"{_SPACE}(?:de{_SPACE}|d['\u2019]|of{_SPACE})")
_WORDS = re.compile(rf"(?:{_SPACE}+(?:de{_SPACE}|d['\u2019])?(?P<word>[^\W\d_][\w'\u2019-]*))")
_ATTACHED = re.compile(r"[^\W\d_]|-[^\W\d_]|[-/]?\d")
_FUNCTION_ROWS = (
    "and or in on at of from by with for to than was were is are be has have had who which that per pro je par",
    "por und oder im am von mit für auf aus bei nach vor war ist sind et ou dans sur avec pour est sont y o en",
    "con para es son each every a an the also only including inklusive since while but as until",
)
_FUNCTION_WORDS = STOP | frozenset(word for row in _FUNCTION_ROWS for word in row.split())
_CHANGES = (
    "rose rise rises risen fell fall falls fallen grew grow grows grown increase increased increases decrease",
    "decreased decreases dropped drop drops up down reduced raised lowered cut cheaper dearer higher lower",
    "stieg sank gestiegen gesunken erhöht gesenkt augmenté baissé diminué subió bajó aumentó",
)
_CHANGE = "|".join(word for row in _CHANGES for word in row.split())
_CHANGE_AFTER = re.compile(
    rf"{_SPACE}*(?:{_CHANGE}|growth|discount|Anstieg|Rabatt|Zuwachs|hausse|baisse|aumento)\b", re.IGNORECASE
)
_TO = re.compile(r"\b(?:to|auf|à|a|at|bei)[ \u00a0]+$", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_THE = re.compile(rf"{_SPACE}+(?:an?|the|le|la|les|el|das|der|die|den){_SPACE}+[^\W\d_]", re.IGNORECASE)
_DOUBTS_AFTER = (
    re.compile(
        rf"{_SPACE}*(?:for|für|pour|para){_SPACE}+(?:\d|(?:an?|the|each|every|all|one|two|three|four|five|six|ten|eine?n?"
        r"|die|das|den|jede[nrs]?|une?|la|le|les|chaque|deux|una?|el|los|las|cada|dos)\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_SPACE}*(?:of|out of|von|de|sur|in){_SPACE}+(?:(?!(?:19|20)\d\d\b)\d|every\b|each\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_SPACE}*(?:more|less|fewer|higher|lower|cheaper|dearer|mehr|weniger|höher|niedriger|billiger|teurer"
        r"|de plus|de moins|más|menos)\b",
        re.IGNORECASE,
    ),
    re.compile(rf"{_SPACE}*(?:points?|Punkte|percentage|Prozentpunkte|puntos)\b"),
    re.compile(rf"{_SPACE}*(?:±|\+/-)"),
    re.compile(rf"{_SPACE}*(?:pro|je|per|par|por)\b", re.IGNORECASE),
)
_CHANGED_BY = re.compile(
    rf"\b(?:{_CHANGE})\b(?:{_SPACE}+(?!to\b|auf\b|à\b|a\b)\w+){{0,3}}{_SPACE}+(?:by|um|de|en){_SPACE}+(?:about{_SPACE}+)?$",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_PER_WORD = re.compile(r"\b(?:per|pro|je|par|por|each|every|pro)\b[ \u00a0]+(?:and[ \u00a0]+)?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_SHORT = 2  # Letters of words that are symbols of times in one language, and other words in another.


@dataclass(frozen=True, slots=True)
class Whole:
    """A quantity in a text."""

    start: int
    """The offset at which the quantity begins, including its sign or currency."""
    core_end: int
    """The offset at which the number, scale, currency and unit end. A quote must contain all of these."""
    end: int
    """The offset at which the quantity ends, including its rates."""
    units: tuple[str, ...] = ()
    """The possible units. There are several if a currency sign may mean several currencies. There are none if no unit
    is written.
    """
    factor: float = 1.0
    """The factor by which the number is multiplied, such as 0.01 for `per 100 km`."""
    offset: float = 0.0
    """The number that is added after the multiplication; only for temperatures, to convert them into kelvin."""
    doubt: str = ""

    @property
    def plain(self) -> bool:
        """Whether the number needs no conversion, because it has no factor and no offset."""
        return self.factor == 1.0 and self.offset == 0.0

    def quantity(self, low: float, high: float, unit: str) -> "Quantity | Refusal":
        """Return the quantity in `unit`, which is one of its units. `low` and `high` are the bounds as written."""
        ends = [end if self.plain else tidy(end * self.factor + self.offset) for end in (low, high)]
        if max(map(abs, ends)) > MAGNITUDE_MAX:
            return Refusal(code=RefusalCode.OUT_OF_RANGE, message=f"the number is over {MAGNITUDE_MAX:g}")
        return Quantity(low=min(ends), high=max(ends), unit=unit)


def whole_quantity(
    text: str, number: WrittenNumber, table: UnitTable, *, mark: DecimalMark = "", language: str = ""
) -> Whole:
    """Return the whole quantity to which a number in a text belongs."""
    head = heading_before(text, number.start, table, language)
    end, units, factor, offset = _own_unit(text, number, table)
    core_end, noun = end, ""
    if not units:
        end, noun = _counted_words(text, end)
    rates = rates_at(text, end, table, mark, language)
    counted = not units and not noun
    end = core_end if noun and not rates.text and not rates.doubt else rates.end
    money = any(table.currencies(unit) for unit in units)
    doubt = _doubt(text, number, core_end, end, rates.doubt, spaced=bool(units or noun or rates.text), money=money)
    if head.doubt and not (units and counted):
        doubt = doubt or head.doubt
    if head.says and not head.doubt:
        scaled = number.scaled or factor != 1.0
        if head.factor != 1.0 and (units or scaled):
            same = not scaled and (set(units) & set(head.units) if head.units else bool(number.currencies))
            doubt = doubt or ("" if same else "the heading states a scale, and the number has a unit of its own")
        if not units or head.factor != 1.0:
            factor *= head.factor
        units = units or head.units
    per = rates.text
    if not units and per:
        units = ("1",)
    return Whole(
        start=number.start,
        core_end=core_end,
        end=max(core_end, end),
        units=tuple(dict.fromkeys(f"{unit}{per}" for unit in units)),
        factor=factor * rates.factor,
        offset=offset if not per else 0.0,
        doubt=doubt or ("a temperature cannot have a rate" if offset and per else ""),
    )


def _own_unit(text: str, number: WrittenNumber, table: UnitTable) -> tuple[int, tuple[str, ...], float, float]:
    """Return the unit after a number: the offset of its end, the possible units, the factor, and the offset to add."""
    end = number.end
    if number.share:
        return end, (number.share,), 1.0, 0.0
    if number.currencies:
        return end, number.currencies, 1.0, 0.0
    if match := _CELSIUS.match(text, end):
        return match.end(), ("kelvin",), 1.0, 273.15
    if match := _FAHRENHEIT.match(text, end):
        return match.end(), ("kelvin",), 5 / 9, 459.67 * 5 / 9
    if (match := _MINOR.match(text, end)) and _is_minor(text, match):
        return match.end(), MINOR[match["word"]], 0.01, 0.0
    gap = (number.scaled and _OF.match(text, end)) or _GAP.match(text, end)
    assert gap, "the pattern also matches an empty text"
    found = product_at(text, gap.end(), table)
    return (found.end, (found.unit,), found.factor, 0.0) if found else (end, (), 1.0, 0.0)


def _is_minor(text: str, match: "re.Match[str]") -> bool:
    """Return whether a word is a hundredth of a currency, such as `cents`.

    `p` counts only directly after its number, or before a rate.
    """
    attached = not match[0][:1].isspace()
    return match["word"] != "p" or attached or text[match.end() : match.end() + 5].lstrip().startswith(("/", "per"))


def _counted_words(text: str, end: int) -> tuple[int, str]:
    """Return the offset after the nouns that follow a number, and the nouns (at most three).

    They may name the things that the number counts.
    """
    place, words = end, []
    for _ in range(3):
        match = _WORDS.match(text, place)
        if match is None or match["word"].lower() in _FUNCTION_WORDS or match["word"].lower() in ADVERBS:
            break
        words.append(match["word"])
        place = match.end()
    return (place, " ".join(words)) if words else (end, "")


def _doubt(text: str, number: WrittenNumber, core_end: int, end: int, rates: str, *, spaced: bool, money: bool) -> str:
    """Return why the words beside a number make its quantity doubtful; empty if they do not."""
    if rates:
        return f"{rates!r} cannot be read"
    if number.spaced and not spaced:
        return f"{text[number.start : number.end]!r} may be one number or two"
    if _ORDINAL.match(text, number.end) or text[: number.start].rstrip(" \u00a0").endswith(("±", "+/-")):
        return "the number is an ordinal or a tolerance"
    if money and _THE.match(text, end):
        return f"{quote_text(text[end : end + 20])} cannot be read as a rate"
    if core_end == number.end and not number.share and (match := _ATTACHED.match(text, core_end)):
        return f"{text[number.start : match.end() + 8].split(chr(10), maxsplit=1)[0]!r} cannot be read"
    if re.match(rf"{_SPACE}\d", text[end : end + 2]) or re.search(rf"\d{_SPACE}?/?$|\d/$", text[: number.start][-3:]):
        return "another number is directly beside this number"
    for pattern in _DOUBTS_AFTER:
        if match := pattern.match(text, end):
            return f"{' '.join(text[end : match.end() + 20].split())!r} cannot be read as a part of the quantity"
    after = _CHANGE_AFTER.match(text, end) and not _TO.search(text[: number.start][-8:])
    if after or _CHANGED_BY.search(text[: number.start][-60:]):
        return "the number states a change, not a level"
    return ""


def _sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the offsets of the sentence, or the line, that contains a part of a text."""
    begins = max((match.end() for match in _SENTENCE_END.finditer(text, 0, start)), default=0)
    ending = _SENTENCE_END.search(text, end)
    return begins, ending.start() if ending else len(text)


def other_rates(text: str, whole: Whole, table: UnitTable) -> "tuple[list[str], list[str]]":
    """Return the rates elsewhere in a quantity's sentence: their units, and words after `per` that are not units.

    If a quantity does not state its rate, its sentence must not state another rate.
    """
    begins, ends = _sentence_around(text, whole.start, whole.end)
    units: list[str] = []
    unknown: list[str] = []
    for match in _PER_WORD.finditer(text, begins, ends):
        if whole.start <= match.start() < whole.end:
            continue
        if found := unit_word(text, match.end(), table):
            units.append(found.unit)
        elif word := _WORD.match(text, match.end()):
            unknown.append(word[0])
    for match in _WORD.finditer(text, begins, ends):
        if whole.start <= match.start() < whole.end:
            continue
        time = time_word(text, match.start()) if len(match[0]) > _SHORT else None
        units += [time.unit] if time else filter(None, [_adjective(match[0])])
    return units, unknown


def _adjective(word: str) -> str:
    low = word.lower()
    for form in (low, low[:-1], low[:-2]):  # German endings: monatliche, monatlichen.
        if form in ADVERBS:
            return ADVERBS[form]
    return ""
