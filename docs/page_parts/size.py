"""The table of the product's size, from the counts that `docs/size.py --publish` has written."""

from collections.abc import Callable, Mapping

from size import published, rows

from page_parts.markdown import table


def size() -> str:
    """Return the sizes of the core, each package, all, the tests and the docs; `make size` has each folder."""
    (before, then), (commit, now) = published().items()
    head = ("What", f"Lines at {before}", "Files", f"Lines at {commit}", "Files")
    summed = rows(then.folders, now.folders)[-7:]
    return table(head, ((name, *(f"{count:,}" for count in counts)) for name, *counts in summed))


PARTS: Mapping[str, Callable[[], str]] = {"size": size}
"""The table by the name in the mark."""
