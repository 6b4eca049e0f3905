"""Values that follow from others: made fields from their components, and defaults where searching has ended. Pure."""

from collections.abc import Mapping

from actors.acquisition.calculation import evaluate_formula, known_numbers
from actors.acquisition.next_task import questions_left, searches_left
from actors.acquisition.planner_state import Writes, apply
from actors.acquisition.profile import FieldSpec
from actors.acquisition.schema import Schema
from actors.acquisition.state import State
from actors.acquisition.values import FieldValue, Values
from actors.quantities.calculator import Blocked

ROUNDS_MAX = 5
"""Passes over the made fields: one may be made of another, at most so many levels deep."""


def compose_values(state: State, schema: Schema) -> Mapping[str, Values]:
    """Return the values that follow from the others now, by path, of those fields whose values change by it."""
    changes: dict[str, Values] = {}
    for path, spec in schema.fields.items():
        if not schema.is_made(path):
            _note(changes, schema, path, _default_value(state, schema, path, spec))
    for _ in range(ROUNDS_MAX):
        current = Schema(schema.profile, apply(schema.planner, Writes(composed=changes)))
        before = dict(changes)
        for path in current.compositions:
            _note(changes, schema, path, _compose_field(current, path))
        if changes == before:
            break
    return {path: values for path, values in changes.items() if values != _follows(schema, path)}


def _note(changes: dict[str, Values], schema: Schema, path: str, value: FieldValue | None) -> None:
    values = () if value is None else (value,)
    if values or path in changes or _follows(schema, path):
        changes[path] = values


def _follows(schema: Schema, path: str) -> Values:
    """Return the values of a field that follow from others, as they are."""
    return tuple(value for value in schema.planner.values.get(path, ()) if value.via in ("computed", "default"))


def _default_value(state: State, schema: Schema, path: str, spec: FieldSpec) -> FieldValue | None:
    """Return a field's default, once it has no other value and nothing is left to search and to ask."""
    others = [value for value in schema.planner.values.get(path, ()) if value.via != "default"]
    if spec.default is None or others:
        return None
    left = questions_left(state, path) if spec.source == "user" else searches_left(state, path)
    standing = bool(
        _follows(schema, path)
    )  # A default that was assumed in an earlier round stays until it is replaced.
    unit = schema.unit(path)
    if (left and not standing) or unit is None:
        return None
    return FieldValue(value=spec.default, unit=unit, via="default", source="the profile's default", confidence=0.0)


def _compose_field(schema: Schema, path: str) -> FieldValue | None:
    made = schema.compositions[path]
    known = known_numbers(schema)
    values = {name: known[inner] for name, inner in made.names.items() if inner in known}
    result = evaluate_formula(schema, made.formula, schema.unit(path), values)
    if isinstance(result, Blocked):
        return None
    sure = min((_confidence(schema, inner) for inner in made.inputs), default=1.0)
    return FieldValue(
        value=result.exact.low,
        low=result.range.low,
        high=result.range.high,
        unit=result.exact.unit,
        via="computed",
        source=made.formula,
        confidence=sure,
    )


def _confidence(schema: Schema, path: str) -> float:
    value = schema.value(path)
    return 0.0 if value is None else value.confidence
