"""Tables and code in Markdown, and the data files of the reference."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


@cache
def read(name: str) -> Any:
    """Return a data file of the reference."""
    folder = DOCS / "reference" if (DOCS / "reference" / name).exists() else DOCS.parent / "configs"
    return yaml.safe_load((folder / name).read_text(encoding="utf-8"))


def meaning(section: str, name: str) -> Any:
    """Return an entry of `configs/meanings.yaml`. Ends the program with one line if it is missing."""
    entries = read("meanings.yaml")[section]
    if name not in entries:
        raise SystemExit(f"configs/meanings.yaml: `{section}` has no {name!r}; add its meaning")
    return entries[name]


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table; cells keep to one line."""
    names = list(head)
    lines = [f"| {' | '.join(line)} |" for line in (names, *([_cell(cell) for cell in row] for row in rows))]
    return "\n".join([lines[0], "|---" * len(names) + "|", *lines[1:]])


def _cell(value: object) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


def code(values: Iterable[object]) -> str:
    """Return values as inline code, separated by commas."""
    return ", ".join(f"`{value}`" for value in values)
