"""The calculator evaluates the formulas of fields, in the order of their dependencies, and compares formulas.

If a formula has no result, such as after a division by zero, `calculate` does not raise an error, but returns the
reason (`Blocked`). Each formula is evaluated only once, so the time is linear in the length of the formulas.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from actors.files.suggestions import nearest
from replan_acquire.quantities.formula import Formula, FormulaUnreadable, evaluate, parse_formula
from replan_acquire.quantities.measures import Blockage, BlockCode, Measure, check_same, describe
from replan_acquire.quantities.quantity import MAGNITUDE_MAX, Quantity
from replan_acquire.quantities.units import UnitTable, UnitUnreadable, tidy
from runtime.core.events import Value


class Blocked(Value):
    """The reason why a calculation has no result."""

    code: BlockCode
    message: str
    missing: tuple[str, ...] = ()
    """The fields without a value, if missing values are the reason."""


class FormulaCycle(ValueError):
    """Some formulas form a cycle of dependencies.

    `path` lists the fields of the cycle, with the first field again at the end.
    """

    def __init__(self, path: tuple[str, ...]) -> None:
        self.path = path
        super().__init__(" → ".join(path))


def calculation_order(formulas: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of the fields in `formulas`, each after the fields that its formula needs.

    Fields that do not depend on each other keep the order of `formulas`.

    Raises:
        FormulaCycle: fields need each other.
        FormulaUnreadable: a text is not a formula.
    """
    needs = {path: [name for name in parse_formula(text).names if name in formulas] for path, text in formulas.items()}
    order: dict[str, None] = {}
    for start in formulas:
        stack = [start]
        while stack:
            following = next((name for name in needs[stack[-1]] if name not in order), None)
            if following is None:
                order[stack.pop()] = None
            elif following in stack:
                raise FormulaCycle((*stack[stack.index(following) :], following))
            else:
                stack.append(following)
    return tuple(order)


def calculate(formula: str, unit: str, values: Mapping[str, Quantity], table: UnitTable) -> Quantity | Blocked:
    """Return the value of a formula in a unit, or why it has no value. `values` has the known values by name."""
    try:
        parsed = parse_formula(formula)
    except FormulaUnreadable as error:
        return Blocked(code=BlockCode.BAD_FORMULA, message=str(error))
    if lacking := _lacking(parsed.names, values):
        return lacking
    inputs = {name: values[name] for name in parsed.names}
    try:
        return _result(evaluate(parsed.root, {n: _measure_of(v, table) for n, v in inputs.items()}), unit, table)
    except Blockage as blockage:
        return Blocked(code=blockage.code, message=_explain_error(str(blockage), inputs))


def _lacking(names: tuple[str, ...], values: Mapping[str, Quantity]) -> Blocked | None:
    missing = tuple(name for name in names if name not in values)
    if not missing:
        return None
    message = f"no value yet for {', '.join(missing[:5])}{' and more' if len(missing) > 5 else ''}"
    return Blocked(code=BlockCode.MISSING_INPUT, message=message, missing=missing)


def _measure_of(value: Quantity, table: UnitTable) -> Measure:
    try:
        unit = table.unit(value.unit)
    except UnitUnreadable as error:
        raise Blockage(BlockCode.WRONG_DIMENSION, str(error)) from None
    return Measure(value.low * unit.factor, value.high * unit.factor, unit.dimensions)


def _result(measured: Measure, unit_text: str, table: UnitTable) -> Quantity:
    try:
        unit = table.unit(unit_text)
    except UnitUnreadable as error:
        raise Blockage(BlockCode.WRONG_DIMENSION, str(error)) from None
    check_same(unit.dimensions, measured.dimensions, "cannot convert between")
    low, high = tidy(measured.low / unit.factor), tidy(measured.high / unit.factor)
    if max(abs(low), abs(high)) > MAGNITUDE_MAX:
        raise Blockage(BlockCode.OVERFLOW, f"the result is over {MAGNITUDE_MAX:g} {unit_text}".rstrip())
    return Quantity(low=low, high=high, unit=unit_text)


def _explain_error(reason: str, inputs: Mapping[str, Quantity]) -> str:
    shown = ", ".join(f"{name} = {value.text}" for name, value in list(inputs.items())[:8])
    return f"{reason} ({shown})" if shown else reason


Comparison = Literal["<", "<=", ">", ">=", "=="]
Truth = Literal["yes", "no", "open"]
"""Whether a check holds for all values in the ranges (`yes`), for no values (`no`), or only for some (`open`)."""

_COMPARISON = re.compile(r"<=|>=|==|<|>")
_MIRRORED: Mapping[str, Comparison] = {">": "<", ">=": "<="}
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class ParsedCheck:
    """A comparison of two formulas."""

    left: Formula
    comparison: Comparison
    right: Formula

    @property
    def names(self) -> tuple[str, ...]:
        """The paths of the fields in the check, each once."""
        return tuple(dict.fromkeys((*self.left.names, *self.right.names)))


def parse_check(text: str) -> ParsedCheck:
    """Parse a check, such as `sales.share <= 1`. Raises `FormulaUnreadable`."""
    operators = _COMPARISON.findall(text)
    if len(operators) != 1:
        raise FormulaUnreadable("a check must be two formulas with one of < <= > >= == between them")
    left, right = _COMPARISON.split(text)
    comparison: Comparison = operators[0]
    return ParsedCheck(parse_formula(left.strip()), comparison, parse_formula(right.strip()))


def check_dimensions(text: str, units: Mapping[str, str], table: UnitTable) -> str:
    """Return why the units of the two formulas of a check cannot be compared, in one line; empty if they can."""
    try:
        check = parse_check(text)
        values = {name: Measure(1.5, 1.5, table.unit(units[name]).dimensions) for name in check.names}
        check_same(
            evaluate(check.left.root, values).dimensions, evaluate(check.right.root, values).dimensions, "compares"
        )
    except KeyError as error:
        return f"{error.args[0]!r} is not a field"
    except Blockage as blockage:
        decided = blockage.code in {BlockCode.MIXED_CURRENCIES, BlockCode.WRONG_DIMENSION}
        return str(blockage) if decided else ""
    except ValueError as error:  # FormulaUnreadable or UnitUnreadable.
        return str(error)
    return ""


def check_holds(text: str, values: Mapping[str, Quantity], table: UnitTable) -> Truth | Blocked:
    """Return whether a check is true for `values`, or why this cannot be calculated."""
    try:
        check = parse_check(text)
    except FormulaUnreadable as error:
        return Blocked(code=BlockCode.BAD_FORMULA, message=str(error))
    if lacking := _lacking(check.names, values):
        return lacking
    try:
        measures = {name: _measure_of(values[name], table) for name in check.names}
        left, right = evaluate(check.left.root, measures), evaluate(check.right.root, measures)
        check_same(left.dimensions, right.dimensions, "compares")
    except Blockage as blockage:
        return Blocked(code=blockage.code, message=str(blockage))
    if check.comparison in _MIRRORED:
        left, right = right, left
    return _truth(left, _MIRRORED.get(check.comparison, check.comparison), right)


def _truth(left: Measure, comparison: Comparison, right: Measure) -> Truth:
    """Compare two ranges.

    Compare two ranges. Numbers that differ by less than a billionth of their size count as equal.
    """
    slack = _TOLERANCE * max(abs(left.low), abs(left.high), abs(right.low), abs(right.high))
    if comparison == "==":
        apart = left.low > right.high + slack or right.low > left.high + slack
        same = left.high - right.low <= slack and right.high - left.low <= slack
        return "no" if apart else "yes" if same else "open"
    if comparison == "<":
        return "yes" if left.high < right.low - slack else "no" if left.low >= right.high - slack else "open"
    return "yes" if left.high <= right.low + slack else "no" if left.low > right.high + slack else "open"


FORMULAS_MAX = 1000

_CERTAIN = frozenset({BlockCode.MIXED_CURRENCIES, BlockCode.WRONG_DIMENSION, BlockCode.DIVISION_BY_ZERO})
"""The codes of the reasons that block a formula whatever values its fields have."""


@dataclass(frozen=True, slots=True)
class FormulaProblem:
    """The reason why a formula cannot be used."""

    path: str
    """The path of the field that has the formula."""
    cause: str
    hint: str = ""
    """What a person can do, in one line; may be empty."""


def check_formulas(
    formulas: Mapping[str, str], units: Mapping[str, str], table: UnitTable
) -> tuple[FormulaProblem, ...]:
    """Return every problem of the formulas, in their order; empty if all formulas can be calculated.

    `units` has the unit of every field of the profile. If a unit itself is not valid, this is not reported here.
    """
    if len(formulas) > FORMULAS_MAX:
        return (FormulaProblem(next(iter(formulas)), f"the profile has more than {FORMULAS_MAX} formulas"),)
    problems: list[FormulaProblem] = []
    for path, text in formulas.items():
        try:
            formula = parse_formula(text)
        except FormulaUnreadable as error:
            problems.append(FormulaProblem(path, f"not a formula: {error}", "such as a.price * a.count"))
            continue
        unknown = [name for name in formula.names if name not in units]
        problems += [
            FormulaProblem(path, f"{name!r} is not a field", nearest(name, units, kind="fields")) for name in unknown
        ]
        if not unknown and (problem := _dimension_problem(formula, units.get(path, ""), units, table)):
            problems.append(FormulaProblem(path, problem))
    if not any(problem.cause.startswith("not a formula") for problem in problems):
        try:
            calculation_order(formulas)
        except FormulaCycle as cycle:
            problems.append(
                FormulaProblem(cycle.path[0], f"the formulas form a cycle: {cycle}", "remove one of these dependencies")
            )
    return tuple(problems)


def _dimension_problem(formula: Formula, unit: str, units: Mapping[str, str], table: UnitTable) -> str:
    """Return the error in the dimensions of a formula; empty if there is no error, or if a unit is unknown.

    The formula is evaluated once, with a different positive number for each field. Only errors that occur for all
    values are returned, such as a division by `a - a`.
    """
    try:
        values = {
            name: Measure(number, number, table.unit(units[name]).dimensions)
            for number, name in zip(_irrational(), formula.names, strict=False)
        }
        wanted = table.unit(unit).dimensions
        result = evaluate(formula.root, values)
    except UnitUnreadable:
        return ""
    except Blockage as blockage:
        return str(blockage) if blockage.code in _CERTAIN else ""
    if result.dimensions != wanted:
        return f"the formula gives {describe(result.dimensions)}, but the field needs {describe(wanted)}"
    return ""


def _irrational() -> Iterator[float]:
    """Yield numbers between 1 and 2 whose sums and differences are practically never zero."""
    return (1 + (number * 0.6180339887498949) % 1 for number in itertools.count(1))
