"""Consoles that keep the contract: no colour and no folded lines unless it is a terminal that shows them."""

import os
import sys
from typing import TextIO

from rich.console import Console
from rich.text import Text

from runtime.terminal import clean

WIDE = 10_000
"""Columns where no terminal limits them: a line in a pipe is never folded."""

__all__ = ["err", "line", "out", "plain_terminal"]


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
