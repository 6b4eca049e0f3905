"""How the messages of plan guards show values: short, on one line, and always printable."""

from collections.abc import Iterable
from typing import Any

from actors.values.format import shorten

TEXT_MAX = 80
"""Characters of one text that a message shows."""
ITEMS_MAX = 8
"""Items of one list that a message shows."""
INT_MAX = 10**18
"""Integers from here on are described, not shown: Python refuses to print very long ones."""


def printable(text: str, limit: int = TEXT_MAX) -> str:
    """Return the text on one line, cut at `limit` characters, with lone surrogates escaped."""
    short = shorten(text, limit)
    if short.isascii() and short.isprintable():
        return short
    short = short.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


def quote_names(names: Iterable[str], limit: int = ITEMS_MAX) -> str:
    """Return names as `'a', 'b' and 3 more`, sorted."""
    ordered = sorted(names)
    shown = ", ".join(f"'{printable(name)}'" for name in ordered[:limit])
    return shown if len(ordered) <= limit else f"{shown} and {len(ordered) - limit} more"


def id_list(step_ids: Iterable[str]) -> str:
    """Return step ids as `a, b and 3 more`, in the order given."""
    ids = list(step_ids)
    shown = ", ".join(printable(step_id) for step_id in ids[:ITEMS_MAX])
    return shown if len(ids) <= ITEMS_MAX else f"{shown} and {len(ids) - ITEMS_MAX} more"


def describe_value(value: Any) -> str:
    """Return the type of a JSON value in plain words, with the beginning of a scalar value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return f"the number {value}" if abs(value) < INT_MAX else "a number of more than 18 digits"
        case float():
            return f"the number {value}"
        case str():
            return f"the string '{printable(value, 40)}'"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "something that is not JSON"
