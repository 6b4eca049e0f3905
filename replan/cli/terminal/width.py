"""The width of the terminal behind a stream. Imports nothing heavy, so that errors are printed fast."""

import os
import textwrap
from typing import Protocol

NARROWEST = 20
"""The smallest width, in columns, that lines are folded to."""


class Stream(Protocol):
    """The part of a stream that is needed here."""

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""

    def fileno(self) -> int:
        """Return its file descriptor."""


def width_of(stream: Stream) -> int | None:
    """Return the columns of the stream's terminal, at least `NARROWEST`; None for a pipe, a file, or an unknown width.

    The environment variable `COLUMNS` wins, as in other programs.
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
    """Return one line of text, folded between words if the stream's terminal is narrower. Paths are not broken."""
    width = width_of(stream)
    return text if width is None else textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
