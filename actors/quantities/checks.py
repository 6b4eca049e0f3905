"""Checks: two formulas with a comparison between them, such as `market.total >= market.served`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from actors.quantities.calculator import Blocked, measure_of
from actors.quantities.formula import Formula, FormulaUnreadable, evaluate, parse_formula
from actors.quantities.measures import Blockage, BlockCode, Measure, check_same
from actors.quantities.quantity import Quantity
from actors.quantities.units import UnitTable

Comparison = Literal["<", "<=", ">", ">=", "=="]
"""The comparisons."""
Truth = Literal["yes", "no", "open"]
"""Whether a check holds: for all values of the ranges, for none, or only for some."""

_COMPARISON = re.compile(r"<=|>=|==|<|>")
_MIRRORED: Mapping[str, Comparison] = {">": "<", ">=": "<="}
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class ParsedCheck:
    """A check that has been understood."""

    left: Formula
    """The first formula."""
    comparison: Comparison
    """The comparison between them."""
    right: Formula
    """The second formula."""

    @property
    def names(self) -> tuple[str, ...]:
        """The paths of the fields in it, each once."""
        return tuple(dict.fromkeys((*self.left.names, *self.right.names)))


def parse_check(text: str) -> ParsedCheck:
    """Return the check that a text is. Raises `FormulaUnreadable`."""
    found = _COMPARISON.findall(text)
    if len(found) != 1:
        raise FormulaUnreadable("a check is two formulas with one of < <= > >= == between them")
    left, right = _COMPARISON.split(text)
    comparison: Comparison = found[0]
    return ParsedCheck(parse_formula(left.strip()), comparison, parse_formula(right.strip()))


def check_dimensions(text: str, units: Mapping[str, str], table: UnitTable) -> str:
    """Return why a check of fields with these units can never be decided, in one line; empty if it can."""
    try:
        check = parse_check(text)
        values = {name: Measure(1.5, 1.5, table.unit(units[name]).dimensions) for name in check.names}
        check_same(
            evaluate(check.left.root, values).dimensions, evaluate(check.right.root, values).dimensions, "compares"
        )
    except KeyError as error:
        return f"{error.args[0]!r} is no field"
    except Blockage as blockage:
        decided = blockage.code in {BlockCode.MIXED_CURRENCIES, BlockCode.WRONG_DIMENSION}
        return str(blockage) if decided else ""
    except ValueError as error:  # FormulaUnreadable or UnitUnreadable.
        return str(error)
    return ""


def check_holds(text: str, values: Mapping[str, Quantity], table: UnitTable) -> Truth | Blocked:
    """Return whether a check holds for known values, or why that cannot be told."""
    try:
        check = parse_check(text)
    except FormulaUnreadable as error:
        return Blocked(path=text, code=BlockCode.BAD_FORMULA, message=str(error))
    missing = tuple(name for name in check.names if name not in values)
    if missing:
        message = f"{', '.join(missing[:5])}: no value yet"
        return Blocked(path=text, code=BlockCode.MISSING_INPUT, message=message, missing=missing)
    try:
        measures = {name: measure_of(values[name], table) for name in check.names}
        left, right = evaluate(check.left.root, measures), evaluate(check.right.root, measures)
        check_same(left.dimensions, right.dimensions, "compares")
    except Blockage as blockage:
        return Blocked(path=text, code=blockage.code, message=str(blockage))
    if check.comparison in _MIRRORED:
        left, right = right, left
    return _truth(left, _MIRRORED.get(check.comparison, check.comparison), right)


def _truth(left: Measure, comparison: Comparison, right: Measure) -> Truth:
    """Compare ranges; numbers that differ by less than a billionth of their size count as equal."""
    slack = _TOLERANCE * max(abs(left.low), abs(left.high), abs(right.low), abs(right.high))
    if comparison == "==":
        apart = left.low > right.high + slack or right.low > left.high + slack
        same = left.high - right.low <= slack and right.high - left.low <= slack
        return "no" if apart else "yes" if same else "open"
    if comparison == "<":
        return "yes" if left.high < right.low - slack else "no" if left.low >= right.high - slack else "open"
    return "yes" if left.high <= right.low + slack else "no" if left.low > right.high + slack else "open"
