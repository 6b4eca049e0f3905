"""Arithmetic of ranges with dimensions.

The range of a result contains all values that the inputs allow. Each use of an input is treated as independent. So if a
name occurs twice in a formula, the range can be wider than necessary, but never narrower.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from replan_acquire.quantities.quantity import MAGNITUDE_MAX
from replan_acquire.quantities.units import CODES, EXPONENT_MAX, Dimensions, Unit

POWER_MAX = 1000
"""The largest exponent in a calculation, with or without a minus sign. An exponent can be a number of years of
growth."""
_BASE_MAX = MAGNITUDE_MAX * 1e30  # Base units may be small, as grams are: the result is checked in its field's unit.


class BlockCode(StrEnum):
    """The reason why a calculation is blocked."""

    MISSING_INPUT = "missing_input"
    DIVISION_BY_ZERO = "division_by_zero"
    OVERFLOW = "overflow"
    MIXED_CURRENCIES = "mixed_currencies"
    WRONG_DIMENSION = "wrong_dimension"
    NOT_REAL = "not_real"  # such as a root of a negative number
    BAD_FORMULA = "bad_formula"


class Blockage(ArithmeticError):
    """The error of a step of a calculation that has no result."""

    def __init__(self, code: BlockCode, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Measure:
    """A range in base units, with its dimensions."""

    low: float
    high: float
    dimensions: Dimensions = ()

    @property
    def exact(self) -> bool:
        """Whether the range is one number."""
        return self.low == self.high


def _check_measure(values: Sequence[float], dimensions: Dimensions) -> Measure:
    if not all(math.isfinite(value) and abs(value) <= _BASE_MAX for value in values):
        raise Blockage(BlockCode.OVERFLOW, "the result is too large")
    return Measure(min(values), max(values), dimensions)


def describe(dimensions: Dimensions) -> str:
    """Return dimensions as text for messages, such as `EUR/meter**2`, or `a plain number` if there are none."""
    above = "*".join(_factor(name, power) for name, power in dimensions if power > 0)
    below = "*".join(_factor(name, -power) for name, power in dimensions if power < 0)
    if not below:
        return above or "a plain number"
    return f"{above or '1'}/{f'({below})' if '*' in below.replace('**', '') else below}"


def _factor(name: str, power: float) -> str:
    return name if power == 1 else f"{name}**{power:g}"


def check_same(first: Dimensions, second: Dimensions, verb: str) -> None:
    """Raise `Blockage` if the dimensions differ. `verb` is the verb of its message, such as `adds`."""
    if first == second:
        return
    here, there = (sorted(name for name, _ in side if name in CODES) for side in (first, second))
    if here != there and here and there:
        names = " and ".join((*here, *there))
        message = f"the formula {verb} {names}; convert one currency with a field that has the rate"
        raise Blockage(BlockCode.MIXED_CURRENCIES, message)
    raise Blockage(BlockCode.WRONG_DIMENSION, f"the formula {verb} {describe(first)} and {describe(second)}")


def add(left: Measure, right: Measure) -> Measure:
    """Return the sum."""
    check_same(left.dimensions, right.dimensions, "adds")
    return _check_measure((left.low + right.low, left.high + right.high), left.dimensions)


def subtract(left: Measure, right: Measure) -> Measure:
    """Return the difference."""
    check_same(left.dimensions, right.dimensions, "subtracts")
    return _check_measure((left.low - right.high, left.high - right.low), left.dimensions)


def negate(measure: Measure) -> Measure:
    """Return the range with the opposite sign."""
    return Measure(-measure.high, -measure.low, measure.dimensions)


def multiply(left: Measure, right: Measure) -> Measure:
    """Return the product."""
    dimensions = Unit(1.0, left.dimensions).times(Unit(1.0, right.dimensions)).dimensions
    _check_exponents(dimensions)
    products = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return _check_measure(products, dimensions)


def divide(left: Measure, right: Measure) -> Measure:
    """Return the quotient."""
    if right.low <= 0 <= right.high:
        cause = "division by zero" if right.exact else "division by a range that contains zero"
        raise Blockage(BlockCode.DIVISION_BY_ZERO, cause)
    dimensions = Unit(1.0, left.dimensions).times(Unit(1.0, right.dimensions), -1).dimensions
    _check_exponents(dimensions)
    return _check_measure([a / b for a in (left.low, left.high) for b in (right.low, right.high)], dimensions)


def power(base: Measure, exponent: Measure) -> Measure:
    """Return the base to the power of a plain number.

    If the base has a dimension, the exponent must be an exact whole number.
    """
    if exponent.dimensions:
        raise Blockage(
            BlockCode.WRONG_DIMENSION,
            f"the exponent has the unit {describe(exponent.dimensions)}, but must be a plain number",
        )
    if max(abs(exponent.low), abs(exponent.high)) > POWER_MAX:
        raise Blockage(BlockCode.OVERFLOW, f"an exponent is over {POWER_MAX}")
    whole = exponent.exact and exponent.low.is_integer()
    if base.dimensions and not (whole and abs(exponent.low) <= EXPONENT_MAX):
        cause = f"{describe(base.dimensions)} has a power that is not a whole number up to {EXPONENT_MAX}"
        raise Blockage(BlockCode.WRONG_DIMENSION, cause)
    if base.low < 0 and not whole:
        raise Blockage(BlockCode.NOT_REAL, "a fractional power of a range with negative numbers")
    if base.low <= 0 <= base.high and exponent.low < 0:
        raise Blockage(BlockCode.DIVISION_BY_ZERO, "a negative power of a range that contains zero")
    dimensions = Unit().times(Unit(1.0, base.dimensions), int(exponent.low)).dimensions if base.dimensions else ()
    _check_exponents(dimensions)
    try:
        corners = [b**e for b in (base.low, base.high) for e in (exponent.low, exponent.high)]
    except OverflowError:
        raise Blockage(BlockCode.OVERFLOW, "the result is too large") from None
    if base.low < 0 < base.high and exponent.low != 0 and exponent.low % 2 == 0:
        corners.append(0.0)
    return _check_measure(corners, dimensions)


def least(measures: Sequence[Measure]) -> Measure:
    """Return the minimum."""
    _check_all(measures, "compares")
    return Measure(min(m.low for m in measures), min(m.high for m in measures), measures[0].dimensions)


def greatest(measures: Sequence[Measure]) -> Measure:
    """Return the maximum."""
    _check_all(measures, "compares")
    return Measure(max(m.low for m in measures), max(m.high for m in measures), measures[0].dimensions)


def total(measures: Sequence[Measure]) -> Measure:
    """Return the sum of the measures."""
    result = measures[0]
    for measure in measures[1:]:
        result = add(result, measure)
    return result


def _check_all(measures: Sequence[Measure], verb: str) -> None:
    for measure in measures[1:]:
        check_same(measures[0].dimensions, measure.dimensions, verb)


def _check_exponents(dimensions: Dimensions) -> None:
    if any(abs(exponent) > EXPONENT_MAX for _, exponent in dimensions):
        raise Blockage(BlockCode.WRONG_DIMENSION, f"a unit has a power over {EXPONENT_MAX}")
