"""Copies of frozen values with other values for some fields."""

from typing import Any, TypeVar

V = TypeVar("V")


def changed(value: V, **fields: Any) -> V:
    """Return a copy of a frozen dataclass (without slots) that differs in the fields given.

    `dataclasses.replace` sets every field again, one by one: for the large values of a run that cost more than all the
    rest of a transition together.
    """
    merged = value.__dict__ | fields
    assert len(merged) == len(value.__dict__), fields.keys() - value.__dict__.keys()
    new = object.__new__(type(value))
    object.__setattr__(new, "__dict__", merged)  # To fill the dict that it has takes three times as long.
    return new
