"""Finds the width of a stream's terminal, and folds lines. Imports only small modules, so errors are printed fast."""

import os
import textwrap
from typing import Protocol

NARROWEST = 20
"""The smallest width, in columns, to which lines are folded. On a narrower terminal, lines are folded to this width
too."""


class Stream(Protocol):
    """The methods of a stream that this module uses."""

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""

    def fileno(self) -> int:
        """Return the file descriptor of the stream."""


def width_of(stream: Stream) -> int | None:
    """Return the columns of the stream's terminal, at least `NARROWEST`; None for a pipe, a file, or an unknown width.

    The environment variable `COLUMNS` takes precedence.
    """
    try:
        if not stream.isatty():
            return None
        named = os.environ.get("COLUMNS", "")
        columns = int(named) if named.isdecimal() else os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return max(columns, NARROWEST) if columns else None


def fold_line(text: str, stream: Stream) -> str:
    """Return a line, folded between words if it is wider than the stream's terminal. Paths are not broken."""
    width = width_of(stream)
    return text if width is None else textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
