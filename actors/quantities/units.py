"""Units: what a unit's text measures and how large it is, and the conversion of quantities.

Physical units are those of pint. A currency is a unit of its own that never converts. A profile declares further units,
such as `apartment`, which convert into nothing else either.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from actors.quantities.currencies import CODES, SIGNS
from actors.quantities.quantity import MAGNITUDE_MAX, Quantity, Refusal, RefusalCode
from actors.quantities.unit_text import EXPONENT_MAX, UnitUnreadable, unit_names

DECLARED_MAX = 200
"""Units that one profile may declare."""

FACTOR_MAX = 1e150
"""The most base units that a unit may have, and the most of it that a base unit may have: quotients stay numbers."""

Dimensions = tuple[tuple[str, int | float], ...]
"""What a unit measures: base units with their exponents, sorted by name; empty for a plain number."""

_NAME = re.compile(r"[^\W\d]\w{0,39}")
_DECLARATION = re.compile(r"(?P<factor>\d{1,15}(?:\.\d{1,15})?)\s*(?P<unit>.*)")
_SHARES: Mapping[str, float] = {
    **dict.fromkeys(("%", "percent", "pct"), 0.01),
    **dict.fromkeys(("‰", "permille"), 0.001),
    **dict.fromkeys(("basis_point", "basis_points"), 0.0001),
}
_LENGTH_POWER = re.compile(r"(?P<length>[kcdmµ]?m|ft|yd|mi)(?P<power>[23])")
"""Squares and cubes as people write them without a sign, such as `m3`."""
_MONEY_PREFIXES: Mapping[str, float] = {"k": 1e3, "M": 1e6}
_SYMBOL_MAX = 4
_NUMBERS = frozenset({"radian", "count"})
"""Base units of pint that are plain numbers here; its `bit` is a unit of its own."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit that has been understood."""

    factor: float = 1.0
    """How many base units it has."""
    dimensions: Dimensions = ()
    """The base units that it is made of."""

    def times(self, other: "Unit", exponent: int = 1) -> "Unit":
        """Return the product with a power of another unit. Raises `UnitUnreadable` where no number holds its factor."""
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

    `declared` maps a name to what it means: an empty text for a unit of its own, or a number and a unit that is known
    otherwise, such as `12` or `24 hour`.
    """

    def __init__(self, declared: Mapping[str, str] | None = None) -> None:
        self._declared = dict(declared or {})
        self._units: dict[str, Unit] = {}

    def problems(self) -> dict[str, str]:
        """Return the declared names that cannot be used, each with the cause in one line."""
        found = {}
        if len(self._declared) > DECLARED_MAX:
            return {next(iter(self._declared)): f"more than {DECLARED_MAX} units are declared"}
        for name in self._declared:
            if not _NAME.fullmatch(name):
                found[name] = "a unit's name is letters, digits and underscores, at most 40, and a letter first"
            elif UnitTable().problem(name) == "":
                found[name] = f"{name!r} is a unit already"
            elif problem := self.problem(name):
                found[name] = problem
        return found

    def problem(self, text: str) -> str:
        """Return why a text is no unit, in one line; empty if it is one."""
        try:
            self.unit(text)
        except UnitUnreadable as error:
            return str(error)
        return ""

    def unit(self, text: str) -> Unit:
        """Return what a unit's text means. Raises `UnitUnreadable`."""
        known = self._units.get(text)
        if known is None:
            known = Unit()
            for name, exponent in unit_names(text).items():
                known = known.times(self._named(name, 0), exponent)
            if any(abs(exponent) > EXPONENT_MAX for _, exponent in known.dimensions):
                raise UnitUnreadable(f"an exponent over {EXPONENT_MAX}")
            if len(self._units) < 4096:
                self._units[text] = known
        return known

    def same_kind(self, first: str, second: str) -> bool:
        """Tell whether two texts are units of which one converts into the other."""
        try:
            return self.unit(first).dimensions == self.unit(second).dimensions
        except UnitUnreadable:
            return False

    def currencies(self, text: str) -> frozenset[str]:
        """Return the currencies in a unit; none for a text that is no unit."""
        try:
            return frozenset(name for name, _ in self.unit(text).dimensions if name in CODES)
        except UnitUnreadable:
            return frozenset()

    def convert(self, quantity: Quantity, unit: str) -> Quantity | Refusal:
        """Return a quantity in another unit, or why that is not possible."""
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
            return Refusal(code=RefusalCode.OUT_OF_RANGE, message=f"over {MAGNITUDE_MAX:g} {unit}".rstrip())
        return Quantity(low=low, high=high, unit=unit)

    def _mismatch(self, source: str, target: str) -> str:
        here, there = self.currencies(source), self.currencies(target)
        if here != there and here and there:
            return f"{source} does not convert into {target}: currencies need a rate, which must be a field of its own"
        return f"{source or 'a plain number'} does not convert into {target or 'a plain number'}"

    def _named(self, name: str, depth: int) -> Unit:
        """Return the unit of one name, in the order: declared, share, currency, pint."""
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
        raise UnitUnreadable(f"{name!r} is no known unit")

    def declared(self, word: str) -> str:
        """Return the profile's own unit that a word names, in any case and number; empty for none."""
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
            raise UnitUnreadable(f"{name!r} is declared by itself, or by too many others")
        result = Unit(float(match["factor"]))
        for part, exponent in unit_names(match["unit"]).items():
            result = result.times(self._named(part, depth + 1), exponent)
        return result


def tidy(number: float) -> float:
    """Return a number without the noise of binary fractions: 14 significant digits."""
    return float(f"{number:.14g}")


def _currency(name: str) -> Unit | None:
    if name in CODES:
        return Unit(1.0, ((name, 1),))
    codes = SIGNS.get(name, ())
    if len(codes) > 1:
        raise UnitUnreadable(f"{name!r} may be {', '.join(codes[:-1])} or {codes[-1]}; write the code")
    if codes:
        return Unit(1.0, ((codes[0], 1),))
    prefix, code = name[:1], name[1:]
    if code in CODES and prefix in _MONEY_PREFIXES:
        return Unit(_MONEY_PREFIXES[prefix], ((code, 1),))
    return None


@lru_cache(maxsize=4096)
def _physical(name: str) -> Unit | None:
    """Return a unit of pint, or None. Raises `UnitUnreadable` for a scale with an offset, such as degrees Celsius."""
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
    dimensions = [(root, _whole(power)) for root, power in dict(roots._units).items() if root not in _NUMBERS]  # noqa: SLF001
    return Unit(float(factor), tuple(sorted(dimensions)))


@lru_cache(maxsize=4096)
def is_written_name(name: str) -> bool:
    """Tell whether people write a unit of pint by this name: `kWh` and `kilometers`, but not `cars` for centi-ares."""
    if _physical_or_none(name) is None:
        return False
    prefix, unit, suffix = _registry().parse_unit_name(name)[0]
    if not prefix or name.lower().startswith(prefix):
        return True
    return not suffix and (name.endswith(_registry().get_symbol(unit)) or len(name) <= _SYMBOL_MAX)


def _physical_or_none(name: str) -> Unit | None:
    try:
        return _physical(name)
    except UnitUnreadable:
        return None


def _whole(power: float) -> int | float:
    return int(power) if float(power).is_integer() else float(power)


@lru_cache(maxsize=1)
def _registry() -> Any:
    """Return pint's registry with its own definitions: made once, at the first unit that needs it."""
    import pint  # noqa: PLC0415

    return pint.UnitRegistry(cache_folder=None)
