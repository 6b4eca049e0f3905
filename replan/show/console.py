"""Consoles that keep the contract: no colour and no folded lines unless it is a terminal that shows them."""

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from runtime.terminal import clean

WIDE = 10_000
"""Columns where no terminal limits them: a line in a pipe is never folded."""

__all__ = ["Row", "columns", "err", "line", "out", "plain_terminal", "print_json", "show"]


def out() -> Console:
    """Return the console for results."""
    return _console(sys.stdout)


def err() -> Console:
    """Return the console for progress, prompts and notices."""
    return _console(sys.stderr)


def plain_terminal(stream: TextIO) -> bool:
    """Tell whether nothing but lines of text may be written: no terminal, or one that can do no more."""
    return not stream.isatty() or os.environ.get("TERM") == "dumb"


def line(text: str, style: str = "") -> Text:
    """Return one line of text from anywhere, safe to show."""
    return Text(clean(text, one_line=True), style=style)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a report, and the column at which it goes on where a terminal folds it."""

    text: Text
    hang: int = 0


def show(rows: Iterable[Row]) -> None:
    """Print a report on stdout: folded to fit a terminal, one line each elsewhere."""
    console = out()
    for row in rows:
        if not console.is_terminal:
            console.print(row.text)
            continue
        first, *rest = row.text.wrap(console, console.width) or [Text()]
        if not rest:
            console.print(first)
            continue
        head, tail = row.text.divide([row.hang]) if row.hang else (Text(), row.text)
        for number, folded in enumerate(tail.wrap(console, max(20, console.width - row.hang))):
            console.print((head if number == 0 else Text(" " * row.hang)) + folded)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print one JSON value on stdout, in letters that its encoding has."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=ascii_only, indent=indent))  # noqa: T201 -- results go to stdout


def columns(*parts: Text | str) -> Text:
    """Return a line of parts, each of which is padded already; text in them comes from `line`."""
    return Text("  ").join([Text(part) if isinstance(part, str) else part for part in parts])


def _console(stream: TextIO) -> Console:
    plain = plain_terminal(stream)
    return Console(
        file=stream,
        force_terminal=not plain,
        color_system=None if plain or os.environ.get("NO_COLOR") else "auto",
        width=WIDE if plain else None,
        soft_wrap=plain,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
