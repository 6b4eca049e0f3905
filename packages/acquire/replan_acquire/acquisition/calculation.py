"""Calculates each result of a profile twice: from the chosen values, and from their ranges. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from replan_acquire.acquisition.planner_state import CalculatedValue, CalculationError, LatestCalculation
from replan_acquire.acquisition.profile import FormulaCheck
from replan_acquire.acquisition.schema import Schema, names_in, schema_of
from replan_acquire.acquisition.state import State
from replan_acquire.acquisition.values import bounds_of, filter_by_period
from replan_acquire.quantities.calculator import (
    Blocked,
    FormulaCycle,
    calculate,
    calculation_order,
    check_holds,
    parse_check,
)
from replan_acquire.quantities.formula import FormulaUnreadable
from replan_acquire.quantities.measures import BlockCode
from replan_acquire.quantities.quantity import Quantity
from runtime.core.events import text_hash


class KnownNumber(NamedTuple):
    """A number that formulas may use: the chosen value, and its range."""

    exact: Quantity
    range: Quantity


def known_numbers(schema: Schema) -> dict[str, KnownNumber]:
    """Return the numbers of those fields of a schema that have a number, by path."""
    found = {}
    for path, spec in schema.fields.items():
        value = schema.value(path)
        if value is None or isinstance(value.value, str):
            continue
        low, high = bounds_of(value, filter_by_period(spec, schema.planner.values[path]))
        exact = Quantity(low=value.value, high=value.value, unit=value.unit)
        found[path] = KnownNumber(exact, Quantity(low=low, high=high, unit=value.unit))
    return found


def is_check_true(schema: Schema, check: FormulaCheck, known: Mapping[str, KnownNumber]) -> bool | None:
    """Return whether a check is true for the chosen values; None if unknown, for example because a value is missing."""
    values = {name: item.exact for name, item in known.items()}
    match check_holds(check.check, values, schema.units):
        case "yes":
            return True
        case "no":
            return False
        case _:
            return None


def names_of(check: FormulaCheck) -> tuple[str, ...]:
    """Return the names in a check, each name once; empty if the check is unreadable."""
    try:
        return parse_check(check.check).names
    except FormulaUnreadable:
        return ()


HASH_LENGTH = 32
_CODES: Mapping[BlockCode, str] = {
    BlockCode.MISSING_INPUT: "missing",
    BlockCode.DIVISION_BY_ZERO: "division_by_zero",
    BlockCode.OVERFLOW: "overflow",
    BlockCode.MIXED_CURRENCIES: "units",
    BlockCode.WRONG_DIMENSION: "units",
    BlockCode.NOT_REAL: "domain",
    BlockCode.BAD_FORMULA: "domain",
}


def evaluate_formula(
    schema: Schema, formula: str, unit: str | None, known: Mapping[str, KnownNumber]
) -> KnownNumber | Blocked:
    """Return the value of a formula in a unit, or why the formula has no value.

    `unit` is None if the unit contains a currency that is not known yet.
    """
    names = names_in(formula)
    missing = tuple(name for name in names if name not in known)
    if missing or unit is None:
        message = f"no value yet for {', '.join(missing) or 'a currency'}"
        return Blocked(code=BlockCode.MISSING_INPUT, message=message, missing=missing)
    results: list[Quantity] = []
    for which in ("exact", "range"):
        values = {name: getattr(known[name], which) for name in names}
        result = calculate(formula, unit, values, schema.units)
        if isinstance(result, Blocked):
            return result
        results.append(result)
    exact, wide = results
    return KnownNumber(exact, Quantity(low=min(exact.low, wide.low), high=max(exact.high, wide.high), unit=exact.unit))


def hash_inputs(schema: Schema) -> str:
    """Return the hash of the inputs of a calculation: the chosen numbers with their ranges, and the currencies."""
    known = {
        path: [number.exact.low, number.range.low, number.range.high, number.exact.unit]
        for path, number in known_numbers(schema).items()
    }
    units = {path: schema.text(path) for path, spec in schema.fields.items() if spec.type == "currency"}
    return text_hash(json.dumps([known, units], sort_keys=True))[:HASH_LENGTH]


def calculate_results(schema: Schema, count: int) -> LatestCalculation:
    """Calculate all results from the current values. `count` is the number of this calculation in the round, from 1."""
    calculator_spec = schema.profile.calculator
    assert calculator_spec is not None, "the profile has a calculator"
    known = known_numbers(schema)
    steps: list[CalculatedValue] = []
    errors: list[CalculationError] = []
    for name in _order({name: spec.formula for name, spec in calculator_spec.results.items()}):
        spec = calculator_spec.results[name]
        result = evaluate_formula(schema, spec.formula, schema.unit_of(spec.unit), known)
        if isinstance(result, Blocked):
            errors.append(_make_error(schema, name, spec.formula, result))
            continue
        known[name] = result
        step = CalculatedValue(
            name=name,
            label=spec.label,
            formula=spec.formula,
            value=result.exact.low,
            low=result.range.low,
            high=result.range.high,
            unit=result.exact.unit,
        )
        steps.append(step)
    errors += [error for check in calculator_spec.preconditions if (error := _precondition_error(schema, check, known))]
    return LatestCalculation(
        status="blocked" if errors else "succeeded",
        count=count,
        inputs_hash=hash_inputs(schema),
        steps=tuple(steps),
        errors=tuple(errors),
    )


def _order(formulas: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return calculation_order(formulas)
    except (FormulaCycle, FormulaUnreadable):  # A profile is checked before a run begins.
        return tuple(formulas)


def _make_error(schema: Schema, name: str, formula: str, blocked: Blocked) -> CalculationError:
    names = blocked.missing or names_in(formula)
    fields = tuple(dict.fromkeys(path for item in names for path in _fields_behind(schema, item)))
    return CalculationError(code=_CODES[blocked.code], result=name, fields=fields, message=blocked.message)


def _fields_behind(schema: Schema, name: str) -> Iterator[str]:
    """If a name in a formula is that of a field, yield this field.

    If it is that of a result, yield the fields that the result uses.
    """
    if name in schema.fields:
        yield name
    elif schema.profile.calculator is not None and name in schema.profile.calculator.results:
        for inner in names_in(schema.profile.calculator.results[name].formula):
            yield from _fields_behind(schema, inner)


def _precondition_error(
    schema: Schema, check: FormulaCheck, known: Mapping[str, KnownNumber]
) -> CalculationError | None:
    if is_check_true(schema, check, known) is not False:
        return None
    fields = tuple(dict.fromkeys(path for name in names_of(check) for path in _fields_behind(schema, name)))
    return CalculationError(code="precondition", fields=fields, message=f"{check.why} ({check.check})")


def is_blocked(state: State) -> bool:
    """Return whether the latest calculation is blocked, and no value has changed since that calculation."""
    calculation = state.planner.calculation
    return calculation.status == "blocked" and calculation.inputs_hash == hash_inputs(schema_of(state))
