"""Checks the formulas of a profile when it is loaded: syntax, names, cycles and dimensions."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from actors.files.suggestions import nearest
from actors.quantities.calculator import FormulaCycle, calculation_order
from actors.quantities.formula import Formula, FormulaUnreadable, evaluate, parse_formula
from actors.quantities.measures import Blockage, BlockCode, Measure, describe
from actors.quantities.unit_text import UnitUnreadable
from actors.quantities.units import UnitTable

FORMULAS_MAX = 1000
"""Formulas of one profile."""

_CERTAIN = frozenset({BlockCode.MIXED_CURRENCIES, BlockCode.WRONG_DIMENSION, BlockCode.DIVISION_BY_ZERO})
"""The reasons that hold for all values."""


@dataclass(frozen=True, slots=True)
class FormulaProblem:
    """Why a formula cannot be used."""

    path: str
    """The field that has the formula."""
    cause: str
    """The cause in one line."""
    hint: str = ""
    """The next step in one line; may be empty."""


def check_formulas(
    formulas: Mapping[str, str], units: Mapping[str, str], table: UnitTable
) -> tuple[FormulaProblem, ...]:
    """Return every problem of the formulas, in their order; none if they can be calculated.

    `units` has the unit of every field of the profile. The problems of a unit itself are not repeated here.
    """
    if len(formulas) > FORMULAS_MAX:
        return (FormulaProblem(next(iter(formulas)), f"more than {FORMULAS_MAX} formulas"),)
    problems: list[FormulaProblem] = []
    for path, text in formulas.items():
        try:
            formula = parse_formula(text)
        except FormulaUnreadable as error:
            problems.append(FormulaProblem(path, f"not a formula: {error}", "such as a.price * a.count"))
            continue
        unknown = [name for name in formula.names if name not in units]
        problems += [
            FormulaProblem(path, f"{name!r} is no field", nearest(name, units, kind="fields")) for name in unknown
        ]
        if not unknown and (problem := _dimension_problem(formula, units.get(path, ""), units, table)):
            problems.append(FormulaProblem(path, problem))
    if not any(problem.cause.startswith("not a formula") for problem in problems):
        try:
            calculation_order(formulas)
        except FormulaCycle as cycle:
            problems.append(FormulaProblem(cycle.path[0], f"fields need each other: {cycle}", "break the cycle"))
    return tuple(problems)


def _dimension_problem(formula: Formula, unit: str, units: Mapping[str, str], table: UnitTable) -> str:
    """Return what is wrong with the dimensions of a formula; empty if nothing is, or a unit is not known.

    It is evaluated with a different positive number for each field. So a division by zero is one for all values, and
    reasons that depend on the values do not count.
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
        return f"the formula gives {describe(result.dimensions)}, but the field is {describe(wanted)}"
    return ""


def _irrational() -> Iterator[float]:
    """Yield numbers above 1 whose sums and differences are never zero in practice."""
    return (1 + (number * 0.6180339887498949) % 1 for number in itertools.count(1))
