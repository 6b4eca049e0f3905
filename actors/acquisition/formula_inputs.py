"""The numbers of a schema that formulas may use: the chosen value of each field with its range. Pure."""

from typing import NamedTuple

from actors.acquisition.schema import Schema
from actors.acquisition.values import bounds_of, of_period
from actors.quantities.quantity import Quantity


class Known(NamedTuple):
    """A number that formulas may use."""

    exact: Quantity
    """The chosen value."""
    range: Quantity
    """The range that it may lie in."""


def known_numbers(schema: Schema) -> dict[str, Known]:
    """Return the numbers of all fields that have one, by path."""
    found = {}
    for path, spec in schema.fields.items():
        value = schema.value(path)
        if value is None or isinstance(value.value, str):
            continue
        low, high = bounds_of(value, of_period(spec, schema.planner.values[path]))
        exact = Quantity(low=value.value, high=value.value, unit=value.unit)
        found[path] = Known(exact, Quantity(low=low, high=high, unit=value.unit))
    return found
