"""The table of the product's lines and files, from the counts that `docs/size.py --publish` has written."""

from collections.abc import Callable, Mapping

from size import published, rows

from page_parts.markdown import table


def size() -> str:
    """Return the lines and files of the core, each package, all, the tests and the docs; `make size` has each room."""
    (before, then), (commit, now) = published().items()
    head = ("What", f"Lines at {before}", "Files", f"Lines at {commit}", "Files")
    return table(head, ((room, *(f"{count:,}" for count in counts)) for room, *counts in rows(then, now)[-7:]))


PARTS: Mapping[str, Callable[[], str]] = {"size": size}
"""The table by the name in the mark."""
