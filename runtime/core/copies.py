"""Copies of values: of a frozen one with other fields, of a mapping without some names."""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

V = TypeVar("V")

_NEW, _SET = object.__new__, object.__setattr__


def changed(value: V, /, **fields: Any) -> V:
    """Return a copy of a frozen dataclass (without slots) that differs in the fields given.

    `dataclasses.replace` sets every field again, one by one: for the large values of a run that cost more than all the
    rest of a transition together.
    """
    before = value.__dict__
    merged = before | fields
    assert len(merged) == len(before), fields.keys() - before.keys()
    new = _NEW(value.__class__)
    _SET(new, "__dict__", merged)  # To fill the dict that it has takes three times as long.
    return new


def without(mapping: Mapping[str, V], names: Collection[str]) -> dict[str, V]:
    """Return a copy of a mapping that has none of the names."""
    return {name: value for name, value in mapping.items() if name not in names}
