"""How plan guards show values in messages: short, on one line, and always printable text."""

from collections.abc import Iterable
from typing import Any

TEXT_MAX = 80
ITEMS_MAX = 8
INT_MAX = 10**18


def plain(text: str, limit: int = TEXT_MAX) -> str:
    """Return the text on one line, cut at `limit` characters, with lone surrogates escaped."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    if short.isascii() and short.isprintable():
        return short
    short = short.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


def listed(names: Iterable[str], limit: int = ITEMS_MAX) -> str:
    """Return names as `'a', 'b' and 3 more`, sorted."""
    every = sorted(names)
    shown = ", ".join(f"'{plain(name)}'" for name in every[:limit])
    return shown if len(every) <= limit else f"{shown} and {len(every) - limit} more"


def steps(names: Iterable[str]) -> str:
    """Return step ids as `a, b and 3 more`, in the order given."""
    every = list(names)
    shown = ", ".join(plain(name) for name in every[:ITEMS_MAX])
    return shown if len(every) <= ITEMS_MAX else f"{shown} and {len(every) - ITEMS_MAX} more"


def kind(value: Any) -> str:
    """Return what a JSON value is, in a model's words, with a short look at it."""
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
            return f"the string '{plain(value, 40)}'"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "something that is not JSON"
