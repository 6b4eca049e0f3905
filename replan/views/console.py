"""Consoles that keep the contract: no colour and no folded lines unless it is a terminal that shows them."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO, cast

from rich.console import Console
from rich.text import Text

from replan.views.screen import width_of
from runtime.logs.terminal_text import clean

WIDE = 10_000
"""Columns where no terminal limits them: a line in a pipe is never folded."""

__all__ = [
    "Lossy",
    "Row",
    "as_far_as_read",
    "columns",
    "err",
    "line",
    "out",
    "plain_terminal",
    "print_json",
    "show",
    "silence",
    "spaced",
]


def out() -> Console:
    """Return the console for results."""
    return _console(sys.stdout)


def err() -> Console:
    """Return the console for progress, prompts and notices."""
    return _console(Lossy(sys.stderr))


class Lossy(io.TextIOBase):
    """A stream as long as somebody reads it: what can no longer be written is lost, and the work goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The stream's encoding."""
        return self._stream.encoding

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the stream's file descriptor."""
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Write, if that is still possible."""
        try:
            return self._stream.write(text)
        except OSError:
            silence(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush, if that is still possible."""
        try:
            self._stream.flush()
        except OSError:
            silence(self._stream)


def silence(stream: TextIO) -> None:
    """Lead a stream that takes no more to nowhere: what it still holds must not fail again when the program ends."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def as_far_as_read() -> Iterator[None]:
    """Print on stdout as far as somebody reads it: the rest is lost, and the command goes on."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


def plain_terminal(stream: TextIO | Lossy) -> bool:
    """Tell whether nothing but lines of text may be written: no terminal, or one that can do no more."""
    return not stream.isatty() or os.environ.get("TERM") == "dumb"


def line(text: str, style: str = "") -> Text:
    """Return one line of text from anywhere, safe to show."""
    return Text(clean(text, one_line=True), style=style)


def spaced(text: str, style: str = "") -> Text:
    """Return one line of text from anywhere with its own white space, as in a program or JSON, safe to show."""
    return Text(clean(text), style=style)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a report, and the column at which it goes on where a terminal folds it."""

    text: Text
    hang: int = 0


def show(rows: Iterable[Row]) -> None:
    """Print a report on stdout: folded to fit a terminal, one line each elsewhere."""
    console = out()
    for row in rows:
        if console.width == WIDE:
            console.print(row.text)
            continue
        first, *rest = row.text.wrap(console, console.width) or [Text()]
        if not rest:
            console.print(first)
            continue
        head, tail = row.text.divide([row.hang]) if row.hang else (Text(), row.text)
        for number, folded in enumerate(tail.wrap(console, max(20, console.width - row.hang))):
            shown = (head if number == 0 else Text(" " * row.hang)) + folded
            shown.rstrip()
            console.print(shown)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print one JSON value on stdout, in letters that its encoding has."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=ascii_only, indent=indent))  # noqa: T201 -- results go to stdout


def columns(*parts: Text | str) -> Text:
    """Return a line of parts, each of which is padded already; text in them comes from `line`."""
    return Text("  ").join([Text(part) if isinstance(part, str) else part for part in parts])


class _Piped(Console):
    """A console that tells its caller when nobody reads it any more, rather than end the program."""

    def on_broken_pipe(self) -> None:
        """Raise the `BrokenPipeError` that is being handled."""
        raise  # noqa: PLE0704 -- the console calls this where it has caught it


def _console(stream: TextIO | Lossy) -> Console:
    plain, width = plain_terminal(stream), width_of(stream)
    return _Piped(
        file=cast("TextIO", stream),
        force_terminal=not plain,
        color_system=None if plain or os.environ.get("NO_COLOR") else "auto",
        width=(width or WIDE) if plain else None,
        soft_wrap=plain and width is None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
