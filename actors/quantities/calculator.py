"""The calculator: evaluates the formulas of fields in the order of their dependencies, with every step.

A result that cannot be had, such as a division by zero, blocks the calculation with its reason; it is never an
exception. Each formula is evaluated once: the time grows with the length of the formulas.
"""

from collections.abc import Mapping

from actors.quantities.formula import FormulaUnreadable, evaluate, parse_formula
from actors.quantities.measures import Blockage, BlockCode, Measure, check_same
from actors.quantities.quantity import MAGNITUDE_MAX, Quantity
from actors.quantities.unit_text import UnitUnreadable
from actors.quantities.units import UnitTable, tidy
from runtime.core.events import Value


class CalculationStep(Value):
    """One formula with what went in and what came out."""

    path: str
    """The field that the formula gives."""
    formula: str
    """The formula as the profile has it."""
    inputs: Mapping[str, Quantity]
    """The value of each field in the formula."""
    result: Quantity
    """The value of the field, in its unit."""


class Blocked(Value):
    """Why a calculation has no result."""

    path: str
    """The field whose formula is blocked."""
    code: BlockCode
    """The reason as a code."""
    message: str
    """The reason in one line."""
    missing: tuple[str, ...] = ()
    """The fields that have no value yet, where that is the reason."""


class Calculation(Value):
    """What a calculation came to."""

    steps: tuple[CalculationStep, ...] = ()
    """The formulas that were evaluated, in order."""
    blocked: Blocked | None = None
    """The first formula that has no result; None after a complete calculation."""

    @property
    def values(self) -> dict[str, Quantity]:
        """The calculated values by field."""
        return {step.path: step.result for step in self.steps}


class FormulaCycle(ValueError):
    """Formulas depend on each other in a circle; `path` names it, the first field again at its end."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self.path = path
        super().__init__(" → ".join(path))


def calculation_order(formulas: Mapping[str, str]) -> tuple[str, ...]:
    """Return the fields that have formulas, each after those that its formula needs; ties in the order given.

    Raises:
        FormulaCycle: fields need each other.
        FormulaUnreadable: a text is no formula.
    """
    needs = {path: [name for name in parse_formula(text).names if name in formulas] for path, text in formulas.items()}
    order: dict[str, None] = {}
    for start in formulas:
        open_paths: dict[str, list[str]] = {}
        stack = [start]
        while stack:
            path = stack[-1]
            if path in order:
                stack.pop()
                continue
            left = open_paths.setdefault(path, list(reversed(needs[path])))
            while left and left[-1] in order:
                left.pop()
            if not left:
                open_paths.pop(path)
                order[path] = None
                stack.pop()
                continue
            following = left.pop()
            if following in open_paths:
                cycle = stack[stack.index(following) :]
                raise FormulaCycle((*cycle, following))
            stack.append(following)
    return tuple(order)


def calculate(
    formulas: Mapping[str, str], units: Mapping[str, str], values: Mapping[str, Quantity], table: UnitTable
) -> Calculation:
    """Return what the formulas come to.

    Args:
        formulas: The formula of each calculated field. Their names are fields; a cycle or an unreadable one blocks.
        units: The unit of each field.
        values: The known values. A field with a formula is calculated also where a value is known.
        table: The units.
    """
    try:
        order = calculation_order(formulas)
    except (FormulaCycle, FormulaUnreadable) as error:
        path = error.path[0] if isinstance(error, FormulaCycle) else next(iter(formulas))
        return Calculation(blocked=Blocked(path=path, code=BlockCode.BAD_FORMULA, message=str(error)))
    known = {path: value for path, value in values.items() if path not in formulas}
    steps: list[CalculationStep] = []
    for path in order:
        formula = parse_formula(formulas[path])
        missing = tuple(name for name in formula.names if name not in known)
        if missing:
            message = f"{', '.join(missing[:5])}{' and more' if len(missing) > 5 else ''}: no value yet"
            blocked = Blocked(path=path, code=BlockCode.MISSING_INPUT, message=message, missing=missing)
            return Calculation(steps=tuple(steps), blocked=blocked)
        inputs = {name: known[name] for name in formula.names}
        try:
            measured = evaluate(formula.root, {name: measure_of(value, table) for name, value in inputs.items()})
            result = _result(measured, units.get(path, ""), table)
        except Blockage as blockage:
            blocked = Blocked(path=path, code=blockage.code, message=_explain_error(str(blockage), inputs))
            return Calculation(steps=tuple(steps), blocked=blocked)
        known[path] = result
        steps.append(CalculationStep(path=path, formula=formula.text, inputs=inputs, result=result))
    return Calculation(steps=tuple(steps))


def measure_of(value: Quantity, table: UnitTable) -> Measure:
    """Return a quantity in base units. Raises `Blockage` where its unit is not known."""
    try:
        unit = table.unit(value.unit)
    except UnitUnreadable as error:
        raise Blockage(BlockCode.WRONG_DIMENSION, str(error)) from None
    return Measure(value.low * unit.factor, value.high * unit.factor, unit.dimensions)


def _result(measured: Measure, unit_text: str, table: UnitTable) -> Quantity:
    """Return a result in the unit of its field."""
    try:
        unit = table.unit(unit_text)
    except UnitUnreadable as error:
        raise Blockage(BlockCode.WRONG_DIMENSION, str(error)) from None
    check_same(unit.dimensions, measured.dimensions, "compares the field's")
    low, high = tidy(measured.low / unit.factor), tidy(measured.high / unit.factor)
    if max(abs(low), abs(high)) > MAGNITUDE_MAX:
        raise Blockage(BlockCode.OVERFLOW, f"the result is over {MAGNITUDE_MAX:g} {unit_text}".rstrip())
    return Quantity(low=low, high=high, unit=unit_text)


def _explain_error(reason: str, inputs: Mapping[str, Quantity]) -> str:
    shown = ", ".join(f"{name} = {value.text}" for name, value in list(inputs.items())[:8])
    return f"{reason} ({shown})" if shown else reason
