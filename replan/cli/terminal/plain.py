"""Prints results without styles: text, JSON, and lines for a pipe or a file. Imports only small modules."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from textwrap import indent as indented
from typing import Any

from actors.values.lines import Line, LineTree

_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that JSON allows unescaped, but that control a terminal or end a line."""


def print_text(text: str) -> None:
    """Print a text on stdout. No line end is added."""
    print(text, end="")  # noqa: T201 -- results go to stdout


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print one JSON value on stdout.

    Characters that the encoding of stdout lacks, and characters that control a terminal, are escaped.
    """
    print(_json(value, indent))  # noqa: T201 -- results go to stdout


class JsonArray:
    """A JSON array that is printed item by item, in the format of `print_json`. Memory holds only one item."""

    def __init__(self) -> None:
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
    """Return a value as JSON. Characters that control a terminal are escaped.

    With `ascii_only`, all characters outside ASCII are escaped too.
    """
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    return _UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def plain_line(row: Line) -> str:
    """Return a line without styles, for a pipe or a file."""
    return row.plain.expandtabs()


def print_lines(rows: Iterable[Line | str]) -> None:
    """Print lines on stdout if it is a pipe or a file."""
    print_text("".join(f"{row if isinstance(row, str) else plain_line(row)}\n" for row in rows))


def tree_lines(tree: LineTree, *, ascii_only: bool = False) -> Iterator[str]:
    """Yield the lines of a tree, with the same branches as on a terminal."""
    yield plain_line(tree.line)
    between, last = ("+-- ", "|   "), ("`-- ", "    ")
    if not ascii_only:
        between, last = ("├── ", "│   "), ("└── ", "    ")
    for child in tree.children:
        first, others = last if child is tree.children[-1] else between
        for number, row in enumerate(tree_lines(child, ascii_only=ascii_only)):
            yield f"{others if number else first}{row}"
