"""Asking on the terminal: one line, without a thread that could outlive the run."""

import os
import sys
from typing import Any

import trio

from replan.show.console import err
from runtime.terminal import clean

LINE_BYTES_MAX = 4096
"""What a terminal hands over at once, and the longest line that it lets a user type."""


def may_ask() -> bool:
    """Tell whether there is somebody to ask: both ends are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask_on_terminal(question: dict[str, Any]) -> str | None:
    """Show a question (`text`, `why`) and return the line typed; None at the end of input."""
    console = err()
    console.print()
    console.print(clean(str(question["text"])), style="bold")
    console.print("One line; empty to be asked again, Ctrl-D to answer later.", style="dim")
    while True:
        console.print("> ", end="")
        typed = await _line()
        if typed is None:
            console.print()
            return None
        if typed.strip():
            return typed.strip()


async def _line() -> str | None:
    # A terminal in line mode is readable once a whole line is there, so that nothing blocks here.
    await trio.lowlevel.wait_readable(sys.stdin.fileno())
    data = os.read(sys.stdin.fileno(), LINE_BYTES_MAX)
    return data.decode(errors="replace") if data else None
