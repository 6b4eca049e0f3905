"""The table of the product's size, from the counts that `docs/size.py --publish` has written."""

from collections.abc import Callable, Mapping

from size import published, rows

from page_parts.markdown import table

SHOWN = {"core", "product", "tests", "docs (words, pages)"}
"""The names of the rows that the page has."""


def size() -> str:
    """Return the sizes of the core, the product, the tests and the docs; `make size` has each folder."""
    (before, then), (commit, now) = published().items()
    head = ("What", f"Lines at {before}", "Files", f"Lines at {commit}", "Files")
    summed = [row for row in rows(then.folders, now.folders) if row[0] in SHOWN]
    return table(head, ((name, *(f"{count:,}" for count in counts)) for name, *counts in summed))


PARTS: Mapping[str, Callable[[], str]] = {"size": size}
"""The table by the name in the mark."""
