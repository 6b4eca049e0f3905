"""How wide the terminal is that a stream leads to. It needs nothing, so that errors stay quick."""

import os
import textwrap
from typing import Protocol

NARROWEST = 20
"""Columns below which a folded line is no easier to read."""


class Stream(Protocol):
    """What an answer is read off."""

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        ...

    def fileno(self) -> int:
        """Return its file descriptor."""
        ...


def width_of(stream: Stream) -> int | None:
    """Return the columns of the stream's terminal, at least `NARROWEST`; None for a pipe, a file, or no known width.

    `COLUMNS` goes first, as everywhere.
    """
    try:
        if not stream.isatty():
            return None
        told = os.environ.get("COLUMNS", "")
        columns = int(told) if told.isdecimal() else os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return max(columns, NARROWEST) if columns else None


def folded(text: str, stream: Stream) -> str:
    """Return one line of text, folded between words where the stream's terminal is narrower; a path is never broken."""
    width = width_of(stream)
    return text if width is None else textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
