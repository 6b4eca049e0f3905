"""Hints for misspelt names: the nearest valid name, or the list of all of them."""

from collections.abc import Iterable

from actors.files.retired import Written, describe_retired

_NAMES_MAX = 20
"""Names that a hint lists when none is near."""


def nearest(name: str, known: Iterable[str], *, kind: str = "known", written: Written | None = None) -> str:
    """Return a hint: the nearest known name, or all of them when none is near.

    With `written`, a name that is retired there gets what does its job now.
    """
    if written and (gone := describe_retired(name, written)):
        return gone
    names = sorted(known)
    listed = f"{kind}: {', '.join(names[:_NAMES_MAX])}" if names else ""
    return near(name, names) or listed


def near(name: str, known: Iterable[str]) -> str:
    """Return a hint: the nearest known name, or an empty text when none is near."""
    close = closest(name, known)
    return f"did you mean {close!r}?" if close else ""


def closest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the known name that is most similar to a name, or an empty text.

    `cutoff` is the least similarity, a ratio of `difflib` from 0 to 1.
    """
    from difflib import get_close_matches  # noqa: PLC0415 -- only a misspelt name needs it

    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=cutoff)), "")
