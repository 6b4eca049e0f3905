"""Prints results on stdout, and notices and progress on stderr. Colours and folded lines are used only on terminals."""

import contextlib
import io
import os
import select
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import IO, TYPE_CHECKING, Self, TextIO, cast

from actors.values.lines import Line, LineTree, line
from replan.cli.terminal.plain import plain_line, print_json, print_lines, print_text, tree_lines
from replan.cli.terminal.width import width_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree


WIDE = 10_000
"""The width, in columns, that an output has if it is not a terminal. This width is so large that no line is folded."""

__all__ = [
    "Lossy",
    "err",
    "has_room",
    "ignore_closed_stdout",
    "notice",
    "out",
    "plain_terminal",
    "print_json",
    "print_row",
    "print_text",
    "print_tree",
    "rich_text",
    "rich_tree",
    "show",
    "silence",
]


def out() -> "Console":
    """Return the console for results."""
    return _console(sys.stdout)


def err() -> "Console":
    """Return the console for progress, prompts and notices."""
    return _console(Lossy(sys.stderr))


class Lossy(io.TextIOBase):
    """A stream whose reader may close it. Text that cannot be written is dropped, and the command continues."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The stream's encoding."""
        return self._stream.encoding

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the stream's file descriptor."""
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Write a text. If the stream is closed, drop the text."""
        try:
            return self._stream.write(text)
        except OSError:
            silence(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush the stream. If the stream is closed, do nothing."""
        try:
            self._stream.flush()
        except OSError:
            silence(self._stream)


def has_room(stream: IO[str]) -> bool:
    """Return whether a line of up to `select.PIPE_BUF` bytes can be written without waiting for the stream's reader."""
    try:
        return bool(select.select([], [stream], [], 0)[1])
    except (OSError, ValueError):  # It is in memory, or closed: a write does not wait.
        return True


def silence(stream: TextIO) -> None:
    """Redirect a failing stream to the null device, so that flushing its buffer at exit does not fail again."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


@contextmanager
def ignore_closed_stdout() -> Iterator[None]:
    """Within the block, ignore a closed stdout: further output is dropped, and the command continues."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


def plain_terminal(stream: TextIO | Lossy) -> bool:
    """Return whether a stream gets only plain text: it is not a terminal, or `TERM` is `dumb`."""
    return not stream.isatty() or os.environ.get("TERM") == "dumb"


def rich_text(row: Line) -> "Text":
    """Return a line in the form that the console prints."""
    from rich.text import Text

    return Text.assemble(*((span.text, span.style) for span in row.spans))


def rich_tree(lines: LineTree) -> "Tree":
    """Return a tree of lines in the form that the console prints."""
    from rich.tree import Tree

    tree = Tree(rich_text(lines.line), guide_style="dim")
    tree.children = [rich_tree(child) for child in lines.children]
    return tree


def notice(text: str) -> None:
    """Print a line on stderr for the user. The line begins with the name of the program.

    The buffer of stdout is written first, so that the lines of both streams are in order. If writing to stdout fails,
    the error is ignored here, because it occurs again at the end and is reported then.
    """
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    message = line(f"replan: {text}")
    if sys.stderr.isatty():
        err().print(rich_text(message))
    else:
        Lossy(sys.stderr).write(f"{plain_line(message)}\n")


def show(lines: Iterable[Line]) -> None:
    """Print lines on stdout. On a terminal, the lines are folded to its width."""
    if sys.stdout.isatty():
        _print_folded(lines, out())
    else:
        print_lines(lines)


def show_aside(lines: Iterable[Line]) -> None:
    """Print lines on stderr. On a terminal, the lines are folded to its width."""
    if sys.stderr.isatty():
        _print_folded(lines, err())
        return
    for item in lines:
        Lossy(sys.stderr).write(f"{plain_line(item)}\n")


def _print_folded(lines: Iterable[Line], console: "Console") -> None:
    from rich.text import Text

    for item in lines:
        text = rich_text(item)
        if console.width == WIDE:
            console.print(text)
            continue
        first, *rest = text.wrap(console, console.width) or [Text()]
        if not rest:
            console.print(first)
            continue
        head, tail = text.divide([item.hang]) if item.hang else (Text(), text)
        for number, part in enumerate(tail.wrap(console, max(20, console.width - item.hang))):
            folded = (head if number == 0 else Text(" " * item.hang)) + part
            folded.rstrip()
            console.print(folded)


def print_row(row: Line, *, cut: bool = False, whole: bool = False) -> None:
    """Print a line on stdout.

    For a terminal, a line that is too long is folded between words. With `cut`, the line is cut instead, and ends in an
    ellipsis. With `whole`, the line is printed as it is, and the terminal breaks it.
    """
    if not sys.stdout.isatty():
        print_lines([row])
    elif cut:
        out().print(rich_text(row), no_wrap=True, overflow="ellipsis")
    else:
        out().print(rich_text(row), soft_wrap=whole or None)


def print_table(rows: Iterable[Line]) -> None:
    """Print many lines on stdout quickly. On a terminal, a long line is cut and ends in an ellipsis."""
    if not sys.stdout.isatty():
        print_lines(rows)
        return
    for row in rows:
        print_row(row, cut=True)


def print_tree(tree: LineTree) -> None:
    """Print a tree of lines on stdout."""
    if sys.stdout.isatty():
        out().print(rich_tree(tree))
    else:
        ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
        print_lines(tree_lines(tree, ascii_only=ascii_only))


@cache
def _piped_console() -> "type[Console]":
    from rich.console import Console

    class Piped(Console):
        """A console of rich. If its stream is closed, it raises an exception instead of ending the program."""

        def on_broken_pipe(self) -> None:
            """Raise the `BrokenPipeError` that is being handled."""
            raise  # noqa: PLE0704 -- the console calls this where it has caught it

    return Piped


def _console(stream: TextIO | Lossy) -> "Console":
    plain, width = plain_terminal(stream), width_of(stream)
    return _piped_console()(
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


NEWS_SECONDS = 10.0
"""The seconds between two lines of progress if stderr is not a terminal."""


class Ticker:
    """Progress of a long command on stderr.

    A terminal shows one line, which is rewritten. Any other output gets a new line every `NEWS_SECONDS`.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._live = sys.stderr.isatty()
        self._started = self._shown_at = time.monotonic()
        self._first: int | None = None

    def tick(self, done: int, of: int) -> None:
        """Show that `done` of `of` items are done, and an estimate of the remaining time."""
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if now - self._shown_at < (0.2 if self._live else NEWS_SECONDS):
            return
        self._shown_at = now
        rate = (done - self._first) / (now - self._started)
        estimate = f", {(of - done) / rate:.0f} s left" if rate > 0 else ""
        text = f"{done:,} of {of:,} {self._what}, {rate:.0f} a second{estimate}"
        if self._live:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        else:
            err().print(rich_text(line(text)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
