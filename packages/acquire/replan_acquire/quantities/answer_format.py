"""The format `quantity` of answers: a number with a unit. Pure.

The JSON schema of the answer may have further keys. `unit` and `short_unit` are the units in which the number may be
stated. `minimum` and `maximum` are the bounds of the number. `units` declares further units
(`replan_acquire.quantities.units.UnitTable`).
"""

import math
from collections.abc import Mapping
from typing import Any

from replan_acquire.quantities.quantity import Quantity, Refusal, RefusalCode
from replan_acquire.quantities.quoted import read_value
from replan_acquire.quantities.units import UnitTable

QUANTITY = "quantity"
"""The name of the answer format for quantities. Its entry point in the group `replan.answers` has the same name."""
Schema = Mapping[str, Any]


def describe(schema: Schema) -> str:
    """Return a description of a valid answer, in a few words."""
    bounds = [f"{name} {schema[key]:,g}" for name, key in (("from", "minimum"), ("to", "maximum")) if key in schema]
    unit = schema.get("unit") or ""
    return " ".join(filter(None, ("a number or a range", f"in {unit}" if unit else "", *bounds)))


def problem(schema: Schema, answer: str) -> str:
    """Return why a text is not a valid answer; empty if it is valid."""
    read = read_quantity(schema, answer)
    return read.message if isinstance(read, Refusal) else ""


def read_quantity(schema: Schema, answer: str) -> Quantity | Refusal:
    """Return the number in an answer, converted into the unit of the question, or why the answer states no number."""
    unit, table = str(schema.get("unit", "")), UnitTable(schema.get("units", {}))
    read = read_value(answer, unit, table)
    if isinstance(read, Refusal) and "short_unit" in schema:
        again = read_value(answer, str(schema["short_unit"]), table)
        read = again.model_copy(update={"unit": unit}) if isinstance(again, Quantity) else read
    if isinstance(read, Refusal):
        return read
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if not (low <= read.low and read.high <= high):
        return Refusal(code=RefusalCode.OUT_OF_RANGE, message=f"{read.text} is outside the bounds")
    return read
