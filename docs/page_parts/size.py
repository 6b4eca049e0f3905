"""The tables of the product's size, from the counts that `docs/size.py --publish` has written."""

from collections.abc import Callable, Mapping

from size import Largest, published, rows

from page_parts.markdown import table


def size() -> str:
    """Return the lines and files of the core, each package, all, the tests and the docs; `make size` has each folder.

    A second table has the functions of the core with the most parameters, and its modules with the most imports.
    """
    (before, then), (commit, now) = published().items()
    head = ("What", f"Lines at {before}", "Files", f"Lines at {commit}", "Files")
    summed = rows(then.folders, now.folders)[-7:]
    lines = table(head, ((name, *(f"{count:,}" for count in counts)) for name, *counts in summed))
    largest = (
        ("parameters of a function", _cell(then.parameters), _cell(now.parameters)),
        ("modules that a module imports", _cell(then.imports), _cell(now.imports)),
    )
    return f"{lines}\n\n{table(('Most in the core', f'At {before}', f'At {commit}'), largest)}"


def _cell(found: Largest) -> str:
    return ", ".join(f"{count} (`{place}`)" for count, place in found)


PARTS: Mapping[str, Callable[[], str]] = {"size": size}
"""The tables by the name in the mark."""
