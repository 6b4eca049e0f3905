"""Prints results without styles: text, JSON, and lines for a pipe or a file. Imports nothing heavy."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from textwrap import indent as indented
from typing import Any

from actors.values.lines import Line, LineTree

_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that JSON allows unescaped, but that a terminal obeys or that end a line."""


def print_text(text: str) -> None:
    """Print a result on stdout without a line end of its own."""
    print(text, end="")  # noqa: T201 -- results go to stdout


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print one JSON value on stdout, in characters that its encoding has and that no terminal obeys."""
    print(_json(value, indent))  # noqa: T201 -- results go to stdout


class JsonArray:
    """An array that is printed item by item, as `print_json` would print it: only one item is in memory."""

    def __init__(self) -> None:
        """Print nothing yet."""
        self._empty = True

    def add(self, value: Any) -> None:
        """Print the next item."""
        before = "[" if self._empty else ","
        print(f"{before}\n{indented(_json(value, 2), '  ')}", end="")  # noqa: T201
        self._empty = False

    def end(self) -> None:
        """Print the end of the array."""
        print("[]" if self._empty else "\n]")  # noqa: T201


def _json(value: Any, indent: int | None) -> str:
    return json_text(value, indent=indent, ascii_only=not (sys.stdout.encoding or "").lower().startswith("utf"))


def json_text(value: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return a value as JSON, with escapes for characters that a terminal obeys; `ascii_only` escapes all others."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    return _UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def plain_line(row: Line) -> str:
    """Return a line without styles, as a pipe or a file gets it."""
    return row.plain.expandtabs()


def print_lines(rows: Iterable[Line | str]) -> None:
    """Print lines on stdout, which is a pipe or a file."""
    print_text("".join(f"{row if isinstance(row, str) else plain_line(row)}\n" for row in rows))


def tree_lines(tree: LineTree, *, ascii_only: bool = False) -> Iterator[str]:
    """Yield a tree line by line, drawn as on a terminal."""
    yield plain_line(tree.line)
    between, last = ("+-- ", "|   "), ("`-- ", "    ")
    if not ascii_only:
        between, last = ("├── ", "│   "), ("└── ", "    ")
    for child in tree.children:
        first, others = last if child is tree.children[-1] else between
        for number, row in enumerate(tree_lines(child, ascii_only=ascii_only)):
            yield f"{others if number else first}{row}"
