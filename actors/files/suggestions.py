"""Hints for misspelt names: the nearest valid name, or the list of all of them."""

from collections.abc import Iterable

_NAMES_MAX = 20
"""Names that a hint lists when none is near."""


def nearest(name: str, known: Iterable[str], *, kind: str = "known") -> str:
    """Return a hint: the nearest known name, or all of them when none is near."""
    names = sorted(known)
    listed = f"{kind}: {', '.join(names[:_NAMES_MAX])}" if names else ""
    return near(name, names) or listed


def near(name: str, known: Iterable[str]) -> str:
    """Return a hint: the nearest known name, or an empty text when none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 -- only a misspelt name needs it

    close = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""
