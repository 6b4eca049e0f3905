"""Finds true and false where the model of a file has numbers. Pydantic would read them as 1 and 0."""

from collections.abc import Mapping
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, BeforeValidator

from actors.files.document import KeyPath

_WITH_NUMBERS = frozenset({int, float, str, NoneType})
"""The types of a field of numbers: a text may be a number's name, and nothing its default."""


def boolean_for_number(model: type[BaseModel], data: Mapping[Any, Any]) -> tuple[KeyPath, bool, str] | None:
    """Return the first truth value that `data` has for a number of the model; None where there is none.

    The result is its place, the value, and what it should be, such as `a whole number`.
    """
    expected = _expected_numbers(model)
    for key, value in data.items():
        if key in expected and (path := _path_of_boolean(value)) is not None:
            found = value
            for part in path:
                found = found[part]
            return (key, *path), found, expected[key]
    return None


@cache
def _expected_numbers(model: type[BaseModel]) -> Mapping[str, str]:
    """Return what the values of each field of numbers should be, by the name of the field."""
    expected: dict[str, str] = {}
    for name, field in model.model_fields.items():
        types = _types_in(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)
        if types & {int, float} and types <= _WITH_NUMBERS:
            expected[name] = "a number" if float in types else "a whole number"
    return expected


def _types_in(annotation: Any) -> set[Any]:
    """Return the types of the values that an annotation allows, those in lists and mappings included.

    A validator that runs before pydantic's decides by itself what it takes, so that its type is not returned.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        is_read_before = any(isinstance(each, BeforeValidator) for each in arguments[1:])
        return set() if is_read_before else _types_in(arguments[0])
    if not arguments or origin is None:
        return {annotation}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _types_in(arguments[1])  # Not the keys.
    return {each for argument in arguments if argument is not Ellipsis for each in _types_in(argument)}


def _path_of_boolean(value: Any) -> KeyPath | None:
    """Return the place of the first truth value in a value of YAML or JSON; None where there is none."""
    if isinstance(value, bool):
        return ()
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if (path := _path_of_boolean(part)) is not None:
            return (key, *path)
    return None
