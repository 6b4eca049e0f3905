"""Reads units as documents write them: shortened units, products of units, and rates. Pure.

A unit after "per" is called a rate. Documents often do not write all rates: they write "2,400 EUR per year" for a spend
in EUR/customer/year, and "2,400 EUR" for an annual spend. A counted unit, such as `customer`, is declared by a profile,
and does not convert into any other unit.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replan_acquire.quantities.numerals import NUMERAL, DecimalMark, readings, scale_at
from replan_acquire.quantities.quantity import Refusal, RefusalCode
from replan_acquire.quantities.unit_words import TIME_UNITS, UnitTerm, time_word, unit_word
from replan_acquire.quantities.units import DECLARED_MAX, UnitTable, UnitUnreadable, find_currencies, unit_names

_PER_WORDS = re.compile(r"\bper [^\W\d_]+(?: and [^\W\d_]+)?")
_WORD = re.compile(r"[^\W\d_]+")
_SHARES = frozenset({"percent", "%", "permille"})


def drop_counted_units(unit: str, declared: Mapping[str, str]) -> str:
    """Return a unit without its counted units, such as `EUR/year` for `EUR/year/user`."""
    return _write_unit({name: power for name, power in _names(unit).items() if not _is_counted(name, declared)})


def _short_forms(unit: str, declared: Mapping[str, str]) -> tuple[str, ...]:
    """Return the shorter forms of a unit: without its counted rates, then without all counted units.

    For `request/second/instance`, the first form is `request/second`. An empty form is omitted.
    """
    names = _names(unit)
    per = _write_unit({name: power for name, power in names.items() if power > 0 or not _is_counted(name, declared)})
    return tuple(form for form in dict.fromkeys((per, drop_counted_units(unit, declared))) if form and form != unit)


def with_words(declared: Mapping[str, str], words: Iterable[str]) -> dict[str, str]:
    """Return the units of a profile.

    Add each noun after `per` in the words of a field, as a unit with the value 1. For example, the field `visits per
    person` adds `person`, if the profile does not declare it.
    """
    units, table = dict(declared), UnitTable(declared)
    for text in words:
        for match in _PER_WORDS.finditer(text):
            for word in _WORD.findall(match[0])[1:]:
                if word.lower() != "and" and len(units) < DECLARED_MAX and table.problem(word) and word.islower():
                    units.setdefault(word, "1")
    return units


class UnitForm(NamedTuple):
    """The form in which a source writes a wanted unit."""

    unit: str
    """The unit as the source writes it; empty if the source writes no unit."""
    target: str
    """The wanted unit without the parts that the source does not write. `unit` converts into this target."""
    left_out: tuple[str, ...] = ()
    rates: tuple[str, ...] = ()


def find_form(
    written: Sequence[str], wanted: str, given: str, table: UnitTable, declared: Mapping[str, str]
) -> "UnitForm | Refusal":
    """Return the form in which a source writes a wanted unit, or why the source's unit does not fit.

    A source need not write counted units. A source need not write another rate either, if `given`, the unit from a
    model or a profile, has that rate. A number without a unit can only be a count or a plain number.
    """
    names = _names(wanted)
    short = drop_counted_units(wanted, declared)
    forms = [wanted, *_short_forms(wanted, declared)]
    if short != wanted and not short:
        forms.append("")
    is_given = bool(given) and any(table.same_kind(given, item) for item in (wanted, short))
    rates = [name for name, power in names.items() if power < 0]
    if is_given:
        for count in range(1, len(rates) + 1):
            for dropped in itertools.combinations(rates, count):
                shorter = _write_unit({name: power for name, power in names.items() if name not in dropped})
                forms += [shorter, drop_counted_units(shorter, declared)]
    for form in dict.fromkeys(forms):
        for unit in written or ("",):
            share = unit.startswith(("percent", "permille"))
            if (form in _SHARES and not unit) or (share and form != wanted):
                continue  # A bare number may be a percentage without its sign. A percentage counts nothing.
            if table.same_kind(unit, form) or (form in _SHARES and _yearly_share(unit, table)):
                kept = _names(form)
                return UnitForm(
                    unit.split("/")[0] if unit and not table.same_kind(unit, form) else unit,
                    form,
                    tuple(name for name in rates if name not in kept),
                    tuple(name for name in rates if name in kept),
                )
    shown = wanted or "a plain number"
    if not written:
        return Refusal(
            code=RefusalCode.NO_UNIT, message=f"the source states no unit for the number, but the field needs {shown}"
        )
    message = f"the source states the unit {' or '.join(written[:2])}, but the field needs {shown}"
    return Refusal(code=RefusalCode.WRONG_UNIT, message=message.replace("(", "").replace(")", ""))


def _yearly_share(unit: str, table: UnitTable) -> bool:
    """Return whether a unit is a percentage per year, such as the interest `4.5 % p.a.`."""
    return unit.startswith(("percent/", "permille/")) and table.same_kind(unit, "1/year") and unit.endswith("/(year)")


def _names(unit: str) -> Mapping[str, int]:
    try:
        return unit_names(unit)
    except UnitUnreadable:
        return {}


def _is_counted(name: str, declared: Mapping[str, str]) -> bool:
    """Return whether a name is a counted unit of the profile, in the singular or in the plural."""
    own = {item for item, meaning in declared.items() if not meaning.strip()}
    forms = (name, name.removesuffix("s"), name.removesuffix("es"), f"{name.removesuffix('ies')}y")
    return any(form in own for form in forms)


def _write_unit(names: Mapping[str, int]) -> str:
    above = [_power(name, power) for name, power in names.items() if power > 0]
    below = [_power(name, -power) for name, power in names.items() if power < 0]
    if not below:
        return "*".join(above)
    return "/".join(["*".join(above) or "1", *below])


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}**{power}"


RATES_MAX = 6

_SPACE = "[ \u00a0\u2009\u202f]"
_PER = re.compile(
    rf"{_SPACE}?/{_SPACE}?|{_SPACE}+(?:per|pro|je|par|por)(?:{_SPACE}+(?:cada|each|every))?{_SPACE}+",
    re.IGNORECASE,
)
_FOR_NUMBER = re.compile(
    rf"{_SPACE}+(?:for every|für je|auf|aux|a los|a las|cada|for each|every)(?={_SPACE}+\d){_SPACE}+", re.IGNORECASE
)
_ARTICLES = (
    "a la|an?|each|every|im|am|in der|die|das|der|pro|jede[nrs]?|au|à la|(?:à |de )?l['\u2019]|le|la|el|al|cada|chaque"
)
_ARTICLE = re.compile(rf"{_SPACE}+(?:{_ARTICLES})(?:{_SPACE}+|(?<=['\u2019]))", re.IGNORECASE)
_AND = re.compile(rf"{_SPACE}+(?:and|und|et|y|e)(?:{_SPACE}+(?:per|pro|je|par|por))?{_SPACE}+", re.IGNORECASE)
_ADVERBS = {
    "day": "daily täglich quotidien quotidienne quotidiens diario diaria diarios diarias par_jour",
    "hour": "hourly stündlich",
    "week": "weekly wöchentlich hebdomadaire hebdomadaires semanal semanales",
    "month": "monthly monatlich mensuel mensuelle mensuels mensuelles mensual mensuales",
    "year": "yearly annually annual jährlich annuel annuelle annuels annuelles anual anuales",
}
ADVERBS = {word: unit for unit, words in _ADVERBS.items() for word in words.split()}
"""For each adverb or adjective, such as `monthly`: the unit of time that it means."""
_ADVERB = re.compile(rf"{_SPACE}+(?P<word>{'|'.join(ADVERBS)})(?!\w)", re.IGNORECASE)
_QUARTERLY = re.compile(
    rf"{_SPACE}+(?:quarterly|vierteljährlich|trimestriel(?:le)?s?|trimestral(?:es)?)(?!\w)", re.IGNORECASE
)
_PER_YEAR = re.compile(rf"{_SPACE}+(?:p\.{_SPACE}?a\.?|pa|per annum)(?!\w)", re.IGNORECASE)
_TIMES = re.compile(rf"[-\u2010\u2011·*⋅×]|{_SPACE}")
_NOUN = re.compile(r"[^\W\d_][\w'\u2019-]*")


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of a quantity."""

    end: int
    """The offset of the end of the rates in the text."""
    text: str = ""
    """The rates as the end of a unit, such as `/(GB)/(month)`; empty if there are no rates."""
    factor: float = 1.0
    """The factor by which the rates multiply the number, such as 0.01 for `per 100`."""
    doubt: str = ""


def product_at(text: str, position: int, table: UnitTable) -> UnitTerm | None:
    """Return the unit at an offset, which may be a product such as `TB-month`; None if there is no unit."""
    first = unit_word(text, position, table)
    if first is None:
        return None
    end, factor, unit = first
    for _ in range(3):
        times = _TIMES.match(text, end)
        if times is None:
            break
        spaced = times[0].isspace()
        following = time_word(text, times.end()) if spaced else unit_word(text, times.end(), table)
        if following is None or (spaced and not _may_follow(unit, times.end(), following)):
            break
        end, factor, unit = following.end, factor * following.factor, f"{unit}*{following.unit}"
    return UnitTerm(end, factor, unit)


def _may_follow(unit: str, start: int, following: UnitTerm) -> bool:
    """Return whether a unit of time after a space multiplies a unit, as in `GB month`.

    This is so if the text has at least three letters there, and the first unit is not a unit of time.
    """
    return unit not in TIME_UNITS and following.end - start > 2


def rates_at(text: str, position: int, table: UnitTable, mark: DecimalMark = "", language: str = "") -> Rates:
    """Return the rates that follow a quantity in the text. `position` is the offset after the quantity."""
    end, units, factor = position, "", 1.0
    for _ in range(RATES_MAX):
        found = _rate(text, end, table, mark, language, joined=bool(units))
        if found is None:
            break
        if found.doubt:
            return Rates(end, units, factor, found.doubt)
        end, units, factor = found.end, units + found.text, factor * found.factor
    return Rates(end, units, factor)


def _rate(
    text: str, position: int, table: UnitTable, mark: DecimalMark, language: str, *, joined: bool
) -> Rates | None:
    for pattern, unit, share in ((_PER_YEAR, "year", 1.0), (_QUARTERLY, "month", 1 / 3)):
        if match := pattern.match(text, position):
            return Rates(match.end(), f"/({unit})", share)
    if match := _ADVERB.match(text, position):
        return Rates(match.end(), f"/({ADVERBS[match['word'].lower()]})")
    if match := _PER.match(text, position) or _FOR_NUMBER.match(text, position):
        return _after_per(text, match.end(), table, mark, language)
    if match := _ARTICLE.match(text, position):
        found = time_word(text, match.end()) or unit_word(text, match.end(), table)
        if found and len(text[match.end() : found.end]) > 1:
            return Rates(found.end, f"/({found.unit})", 1 / found.factor)
    if joined and (match := _AND.match(text, position)):
        if found := unit_word(text, match.end(), table):
            return Rates(found.end, f"/({found.unit})", 1 / found.factor)
        noun = _NOUN.match(text, match.end())
        per = match[0].split()[-1].lower() in ("per", "pro", "je", "par", "por")
        if noun and (per or not text[noun.end() :].lstrip(" \u00a0")[:1].isalnum()):
            return Rates(position, doubt=f"{match[0].strip()} {noun[0]}")
    return None


def _after_per(text: str, position: int, table: UnitTable, mark: DecimalMark, language: str) -> Rates:
    number, start = 1.0, position
    context = " ".join(text[max(0, position - 5) : position + 30].split("\n", maxsplit=1)[0].split())
    if match := NUMERAL.match(text, position):
        read = readings(match[0])
        if read is None or not (read.certain or mark):
            return Rates(position, doubt=f"…{context}…")
        number, position = (read.comma if mark == "comma" else read.point), match.end()
    end, scales = scale_at(text, position, money=False, language=language)
    if end > position and (found := unit_word(text, start, table)) is None:
        if len(scales) > 1:
            return Rates(position, doubt=f"…{context}…")
        number, position = number * scales[0], end
    space = re.compile(rf"(?:{_SPACE}+(?:of|de|d['\u2019])?)?{_SPACE}*").match(text, position)
    position = space.end() if space and position > start else position
    found = product_at(text, position, table)
    if found is None and (currency := re.compile(r"[A-Z]{3}\b|€").match(text, position)) and number > 0:
        codes = find_currencies(currency[0])
        found = UnitTerm(currency.end(), 1.0, codes[0]) if len(codes) == 1 else None
    if found is None or number <= 0:
        return Rates(position, doubt=f"…{context}…")
    return Rates(found.end, f"/({found.unit})", 1 / (number * found.factor))
