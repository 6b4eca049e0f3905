"""Copies of frozen values with other values for some fields."""

from typing import Any, TypeVar

V = TypeVar("V")


def changed(value: V, **fields: Any) -> V:
    """Return a copy of a frozen dataclass (without slots) that differs in the fields given.

    `dataclasses.replace` sets every field again, one by one: for the large values of a run that cost more than all the
    rest of a transition together.
    """
    assert fields.keys() <= value.__dict__.keys(), fields.keys() - value.__dict__.keys()
    new = object.__new__(type(value))
    new.__dict__.update(value.__dict__, **fields)
    return new
