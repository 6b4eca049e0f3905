"""Units and currencies: the dimensions and the size of a unit such as `EUR/(kWh*month)`, and conversions.

Physical units are the units of pint. A currency (ISO 4217) is a unit of its own that never converts. If a calculation
needs an exchange rate, the profile has a field for it, with a unit such as `USD/EUR`. A profile can declare further
units, such as `apartment`. A declared unit converts into another unit only if its declaration says so.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from replan_acquire.quantities.quantity import MAGNITUDE_MAX, Quantity, Refusal, RefusalCode

_ROWS = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD",
    "CDF CHF CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD",
    "GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT",
    "LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR",
    "NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP",
    "STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD",
    "XOF XPF YER ZAR ZMW ZWG",
)
CODES = frozenset(code for row in _ROWS for code in row.split())

_DOLLARS = ("USD", "AUD", "CAD", "HKD", "MXN", "NZD", "SGD", "TWD")

SIGNS: Mapping[str, tuple[str, ...]] = {
    "€": ("EUR",),
    "US$": ("USD",),
    "A$": ("AUD",),
    "C$": ("CAD",),
    "CA$": ("CAD",),
    "HK$": ("HKD",),
    "NT$": ("TWD",),
    "NZ$": ("NZD",),
    "R$": ("BRL",),
    "S$": ("SGD",),
    "$": _DOLLARS,
    "£": ("GBP", "EGP"),
    "¥": ("JPY", "CNY"),
    "元": ("CNY", "TWD"),
    "円": ("JPY",),
    "₩": ("KRW",),
    "₹": ("INR",),
    "₽": ("RUB",),
    "₺": ("TRY",),
    "₴": ("UAH",),
    "₪": ("ILS",),
    "₦": ("NGN",),
    "₫": ("VND",),
    "₱": ("PHP",),
    "฿": ("THB",),
    "₸": ("KZT",),
    "zł": ("PLN",),
    "Kč": ("CZK",),
    "kr": ("SEK", "NOK", "DKK", "ISK"),
    "euro": ("EUR",),
    "euros": ("EUR",),
    "Euro": ("EUR",),
    "Euros": ("EUR",),
    **dict.fromkeys(("dollar", "dollars", "Dollar", "dólares"), _DOLLARS),
}
"""The currencies that each sign may mean. If a sign may mean several currencies, the unit of the field decides."""


_CENTS = ("EUR", *_DOLLARS, "ZAR")

MINOR: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ct", "cts", "cent", "cents", "Cent", "Cents"), _CENTS),
    **dict.fromkeys(("Eurocent", "Eurocents", "eurocent", "eurocents", "Euro-Cent", "€ct", "€-ct"), ("EUR",)),
    **dict.fromkeys(("centime", "centimes"), ("EUR", "CHF")),
    **dict.fromkeys(("céntimo", "céntimos", "centimo", "centimos"), ("EUR",)),
    **dict.fromkeys(("p", "pence", "penny"), ("GBP",)),
    "¢": ("USD", "CAD"),
    "Rappen": ("CHF",),
}
"""For each word for the hundredth part of a currency, such as `cent`: the currencies that it may belong to. If there
are several, the unit of the field decides."""


def find_currencies(text: str) -> tuple[str, ...]:
    """Return the currencies that a sign such as `$`, or a code, may mean; empty if it means no currency."""
    return (text,) if text in CODES else SIGNS.get(text, ())


UNIT_CHARACTERS_MAX = 100
EXPONENT_MAX = 12

_TOKEN = re.compile(
    r"\s*(?:(?P<power>\*\*|\^)|(?P<name>(?:[A-Z]{1,2}\$|[€$£¥₩₹₽₺₴₪₦₫₱฿₸元円%‰°]|[^\W\d])\w*)|(?P<number>-?\d+)|(?P<mark>[*/()]))"
)
_SPELLINGS = {"²": "**2", "³": "**3", "·": "*", "⋅": "*", "×": "*"}


class UnitUnreadable(ValueError):
    """A text is not a unit. The message says what is wrong."""


def unit_names(text: str) -> Mapping[str, int]:
    """Parse the text of a unit into names with exponents. For an empty text or `1`, the result is empty.

    Raises:
        UnitUnreadable: the text is too long, or is not names joined by `*`, `/`, `per`, `**` and parentheses.
    """
    if len(text) > UNIT_CHARACTERS_MAX:
        raise UnitUnreadable(f"the unit has more than {UNIT_CHARACTERS_MAX} characters")
    for sign, spelling in _SPELLINGS.items():
        text = text.replace(sign, spelling)
    text = re.sub(r"(?<=\S)\s+per\s+(?=\S)", "/", text.strip())
    tokens: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise UnitUnreadable(f"a unit must not contain {text[place:].strip()[:20]!r}")
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        place = match.end()
    reader = _Reader(tokens)
    names = reader.product() if tokens else Counter[str]()
    if reader.left:
        raise UnitUnreadable(f"{reader.left[0][1]!r} is not joined to the rest of the unit by * or /")
    if any(abs(exponent) > EXPONENT_MAX for exponent in names.values()):
        raise UnitUnreadable(f"the unit has an exponent over {EXPONENT_MAX}")
    return {name: exponent for name, exponent in names.items() if exponent}


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.left = tokens

    def _take(self) -> tuple[str, str]:
        if not self.left:
            raise UnitUnreadable("the unit ends too early")
        token, *self.left = self.left
        return token

    def _next_is(self, *marks: str) -> bool:
        return bool(self.left) and self.left[0][1] in marks

    def product(self) -> Counter[str]:
        total = self._power()
        while self._next_is("*", "/"):
            sign = 1 if self._take()[1] == "*" else -1
            for name, exponent in self._power().items():
                total[name] += sign * exponent
        return total

    def _power(self) -> Counter[str]:
        base = self._atom()
        if not self._next_is("**", "^"):
            return base
        self._take()
        kind, text = self._take()
        if kind != "number" or len(text) > 3:
            raise UnitUnreadable(f"the exponent {text!r} is not a whole number up to {EXPONENT_MAX}")
        return Counter({name: exponent * int(text) for name, exponent in base.items()})

    def _atom(self) -> Counter[str]:
        kind, text = self._take()
        if kind == "name":
            return Counter({text: 1})
        if text == "1":
            return Counter()
        if text != "(":
            raise UnitUnreadable(f"a unit is expected in place of {text!r}")
        inner = self.product()
        if self._take()[1] != ")":
            raise UnitUnreadable("a parenthesis is not closed")
        return inner


DECLARED_MAX = 200

FACTOR_MAX = 1e150
"""The largest factor of a unit. The smallest factor is 1 divided by this number. So the quotient of two factors is a
finite number."""

Dimensions = tuple[tuple[str, int | float], ...]
"""The base units of a unit with their exponents, sorted by name; empty for a plain number."""

_NAME = re.compile(r"[^\W\d]\w{0,39}")
_DECLARATION = re.compile(r"(?P<factor>\d{1,15}(?:\.\d{1,15})?)\s*(?P<unit>.*)")
_SHARES: Mapping[str, float] = {
    **dict.fromkeys(("%", "percent", "pct"), 0.01),
    **dict.fromkeys(("‰", "permille"), 0.001),
    **dict.fromkeys(("basis_point", "basis_points"), 0.0001),
}
_LENGTH_POWER = re.compile(r"(?P<length>[kcdmµ]?m|ft|yd|mi)(?P<power>[23])")
"""Matches a unit of length that is followed by its power without a sign, such as `m3`."""
_MONEY_PREFIXES: Mapping[str, float] = {"k": 1e3, "M": 1e6}
_SYMBOL_MAX = 4
_NUMBERS = frozenset({"radian", "count"})
"""The base units of the library pint that Replan treats as plain numbers. Pint's `bit` is different: Replan treats it
as a unit of its own."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit, which is `factor` times the base units in `dimensions`."""

    factor: float = 1.0
    dimensions: Dimensions = ()

    def times(self, other: "Unit", exponent: int = 1) -> "Unit":
        """Multiply this unit by a power of another unit. Raises `UnitUnreadable` if the factor exceeds `FACTOR_MAX`."""
        total = dict(self.dimensions)
        for name, power in other.dimensions:
            total[name] = total.get(name, 0) + power * exponent
        try:
            factor = self.factor * other.factor**exponent
        except (OverflowError, ZeroDivisionError):
            raise UnitUnreadable("the unit is too large or too small") from None
        if not 1 / FACTOR_MAX <= factor <= FACTOR_MAX:
            raise UnitUnreadable("the unit is too large or too small")
        return Unit(factor, tuple(sorted((name, power) for name, power in total.items() if power)))


class UnitTable:
    """The units that one profile may use.

    `declared` maps the name of each of the profile's own units to its meaning. An empty meaning declares a unit that
    converts into no other unit. Any other meaning is a number, or a number and a known unit, such as `12` or `24 hour`.
    """

    def __init__(self, declared: Mapping[str, str] | None = None) -> None:
        self._declared = dict(declared or {})
        self._units: dict[str, Unit] = {}

    def problems(self) -> dict[str, str]:
        """Return the declared names that cannot be used, each with the reason in one line."""
        found = {}
        if len(self._declared) > DECLARED_MAX:
            return {next(iter(self._declared)): f"more than {DECLARED_MAX} units are declared"}
        for name in self._declared:
            if not _NAME.fullmatch(name):
                found[name] = (
                    "a unit's name must begin with a letter, and have at most 40 letters, digits and underscores"
                )
            elif UnitTable().problem(name) == "":
                found[name] = f"the unit {name!r} exists already"
            elif problem := self.problem(name):
                found[name] = problem
        return found

    def problem(self, text: str) -> str:
        """Return why a text is not a unit, in one line; empty if it is a unit."""
        try:
            self.unit(text)
        except UnitUnreadable as error:
            return str(error)
        return ""

    def unit(self, text: str) -> Unit:
        """Return the unit that a text names. Raises `UnitUnreadable`."""
        known = self._units.get(text)
        if known is None:
            known = Unit()
            for name, exponent in unit_names(text).items():
                known = known.times(self._named(name, 0), exponent)
            if any(abs(exponent) > EXPONENT_MAX for _, exponent in known.dimensions):
                raise UnitUnreadable(f"the unit has an exponent over {EXPONENT_MAX}")
            if len(self._units) < 4096:
                self._units[text] = known
        return known

    def same_kind(self, first: str, second: str) -> bool:
        """Return whether both texts are units and can be converted into each other."""
        try:
            return self.unit(first).dimensions == self.unit(second).dimensions
        except UnitUnreadable:
            return False

    def currencies(self, text: str) -> frozenset[str]:
        """Return the currencies in a unit; empty if the text is not a unit."""
        try:
            return frozenset(name for name, _ in self.unit(text).dimensions if name in CODES)
        except UnitUnreadable:
            return frozenset()

    def convert(self, quantity: Quantity, unit: str) -> Quantity | Refusal:
        """Return a quantity in another unit, or why it cannot be converted."""
        if quantity.unit == unit:
            return quantity
        try:
            source, target = self.unit(quantity.unit), self.unit(unit)
        except UnitUnreadable as error:
            return Refusal(code=RefusalCode.UNKNOWN_UNIT, message=str(error))
        if source.dimensions != target.dimensions:
            return Refusal(code=RefusalCode.WRONG_UNIT, message=self._mismatch(quantity.unit, unit))
        factor = source.factor / target.factor
        low, high = (tidy(number * factor) if factor != 1 else number for number in (quantity.low, quantity.high))
        if max(abs(low), abs(high)) > MAGNITUDE_MAX:
            message = f"the value is over {MAGNITUDE_MAX:g} {unit}".rstrip()
            return Refusal(code=RefusalCode.OUT_OF_RANGE, message=message)
        return Quantity(low=low, high=high, unit=unit)

    def _mismatch(self, source: str, target: str) -> str:
        here, there = self.currencies(source), self.currencies(target)
        if here != there and here and there:
            return (
                f"{source} cannot be converted into {target}: currencies need a rate, which must be a field of its own"
            )
        return f"{source or 'a plain number'} cannot be converted into {target or 'a plain number'}"

    def _named(self, name: str, depth: int) -> Unit:
        """Return the unit that one name means.

        The name is looked up among declared units, shares, currencies and the units of pint, in this order.
        """
        if (declared := self._declared_name(name)) is not None:
            return self._definition(declared, depth)
        if name in _SHARES:
            return Unit(_SHARES[name])
        if (money := _currency(name)) is not None:
            return money
        if (physical := _physical(name)) is not None:
            return physical
        if name.upper() in CODES:
            return Unit(1.0, ((name.upper(), 1),))
        if power := _LENGTH_POWER.fullmatch(name):
            return Unit().times(self._named(power["length"], depth), int(power["power"]))
        raise UnitUnreadable(f"{name!r} is not a known unit")

    def declared(self, word: str) -> str:
        """Return the name of the declared unit that a word means; empty if it means none.

        The word may be in lower or upper case, singular or plural.
        """
        return self._declared_name(word) or self._declared_name(word.lower()) or ""

    def _declared_name(self, name: str) -> str | None:
        endings = (("", ""), ("s", ""), ("es", ""), ("ies", "y"))
        forms = [name.removesuffix(end) + instead for end, instead in endings if name.endswith(end)]
        return next((form for form in forms if form in self._declared), None)

    def _definition(self, name: str, depth: int) -> Unit:
        text = self._declared[name].strip()
        if not text:
            return Unit(1.0, ((name, 1),))
        match = _DECLARATION.fullmatch(text)
        if match is None or float(match["factor"]) <= 0:
            raise UnitUnreadable(f"{name!r} is declared as {text[:40]!r}, not as a positive number and a unit")
        if depth > 8:
            raise UnitUnreadable(f"the declaration of {name!r} refers to itself, or to too many other units")
        result = Unit(float(match["factor"]))
        for part, exponent in unit_names(match["unit"]).items():
            result = result.times(self._named(part, depth + 1), exponent)
        return result


def tidy(number: float) -> float:
    """Return a number rounded to 14 significant digits. Rounding removes the errors of binary fractions."""
    return float(f"{number:.14g}")


def _currency(name: str) -> Unit | None:
    if name in CODES:
        return Unit(1.0, ((name, 1),))
    codes = SIGNS.get(name, ())
    if len(codes) > 1:
        raise UnitUnreadable(f"{name!r} may be {', '.join(codes[:-1])} or {codes[-1]}; write the currency's code")
    if codes:
        return Unit(1.0, ((codes[0], 1),))
    prefix, code = name[:1], name[1:]
    if code in CODES and prefix in _MONEY_PREFIXES:
        return Unit(_MONEY_PREFIXES[prefix], ((code, 1),))
    return None


@lru_cache(maxsize=4096)
def _physical(name: str) -> Unit | None:
    """Return the physical unit that pint knows by this name; None if pint knows none.

    Raises `UnitUnreadable` for a scale with an offset, such as degrees Celsius.
    """
    import pint  # noqa: PLC0415 - it takes 0.3 s, and most commands need no unit

    registry = _registry()
    try:
        named = registry.parse_unit_name(name)
        if not named:
            return None
        canonical = named[0][0] + named[0][1]
        if registry.Quantity(0.0, canonical).to_root_units().magnitude != 0:
            raise UnitUnreadable(f"{name!r} is a scale that does not begin at zero; use a difference or a ratio")
        factor, roots = registry.get_root_units(canonical)
    except (pint.errors.PintError, ArithmeticError, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, UnitUnreadable):
            raise
        return None
    dimensions = [(root, _as_integer(power)) for root, power in dict(roots._units).items() if root not in _NUMBERS]  # noqa: SLF001
    return Unit(float(factor), tuple(sorted(dimensions)))


@lru_cache(maxsize=4096)
def is_written_name(name: str) -> bool:
    """Return whether people use this name for a unit of pint: true for `kWh`, but not for `cars` (centi-ares)."""
    if _physical_or_none(name) is None:
        return False
    prefix, unit, suffix = _registry().parse_unit_name(name)[0]
    if not prefix or name.lower().startswith(prefix):
        return True  # The prefix is written out, as in `kilometers`.
    # The prefix is a symbol. Then the unit must be a symbol too, as in `kWh`, or the name must be short.
    return not suffix and (name.endswith(_registry().get_symbol(unit)) or len(name) <= _SYMBOL_MAX)


def _physical_or_none(name: str) -> Unit | None:
    try:
        return _physical(name)
    except UnitUnreadable:
        return None


def _as_integer(power: float) -> int | float:
    return int(power) if float(power).is_integer() else float(power)


@lru_cache(maxsize=1)
def _registry() -> Any:
    import pint  # noqa: PLC0415

    return pint.UnitRegistry(cache_folder=None)
