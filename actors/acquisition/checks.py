"""Comparisons over the values of a schema: the preconditions and stop conditions of a profile. Pure."""

from collections.abc import Mapping

from actors.acquisition.formula_inputs import Known
from actors.acquisition.profile import Check
from actors.acquisition.schema import Schema
from actors.quantities.checks import check_holds, parse_check
from actors.quantities.formula import FormulaUnreadable


def holds(schema: Schema, check: Check, known: Mapping[str, Known]) -> bool | None:
    """Tell whether a check holds of the chosen values; None where it cannot be told, as without a value."""
    values = {name: each.exact for name, each in known.items()}
    match check_holds(check.check, values, schema.units):
        case "yes":
            return True
        case "no":
            return False
        case _:
            return None


def names_of(check: Check) -> tuple[str, ...]:
    """Return the names in a check, each once; none in one that cannot be read."""
    try:
        return parse_check(check.check).names
    except FormulaUnreadable:
        return ()
