"""Asks questions on the terminal and reads the answers, without a thread that could outlive the run."""

import os
import sys
import termios
from collections.abc import Mapping
from typing import Any

import trio

from actors.run.open_question import choices, hint, pick_answer, question_parts
from actors.values.lines import indent_line, line, verbatim
from replan.cli.terminal.console import err, rich_text
from runtime.logs.terminal_text import clean

LINE_BYTES_MAX = 4096
"""The largest number of bytes that one read from a terminal returns. A line that the user types cannot be longer."""

QUIET_SECONDS = 0.05
"""The longest pause, in seconds, between two lines of a pasted text. After a longer pause without input, the answer
counts as complete."""


def may_ask(*, no_input: bool) -> bool:
    """Return whether a user can be asked: stdin and stderr are terminals, and `no_input` is not set."""
    return not no_input and sys.stdin.isatty() and sys.stderr.isatty()


async def ask_on_terminal(question: Mapping[str, Any], *, edits: bool = False) -> str | None:
    """Show a question, and return the typed or pasted answer; None at the end of input.

    `edits` says whether the user may answer `edit`, which opens the plan in an editor.
    """
    console = err()
    console.print()
    (first, _), *rest = question_parts(question, numbered=bool(choices(question)))
    console.print(clean(first), style="bold", markup=False)
    for text, style in rest:
        as_it_is = text.startswith("|")  # What is shown keeps its indentation.
        console.print(rich_text(verbatim(f"   {text}") if as_it_is else indent_line(clean(text), style)))
    if edits:
        text = "Type edit to change the plan in your editor; if the guards accept your changes, the plan is approved."
        console.print(rich_text(line(text, "dim")))
    console.print(
        rich_text(line(f"{hint(question)}; an empty line asks again, Ctrl-D leaves the question open.", "dim"))
    )
    drop_typed()
    while True:
        console.print("> ", end="")
        try:
            typed = await _answer()
        except trio.Cancelled:
            console.print()  # The next output begins a new line.
            raise
        if typed is None:
            console.print()
            return None
        if typed.strip():
            return pick_answer(question, typed.strip())


def drop_typed() -> None:
    """Discard unread input, so that neither the next question nor the user's shell reads it."""
    terminal = sys.stdin.fileno()
    # A process in the background would be stopped for this, and the input is not for it.
    if os.isatty(terminal) and os.tcgetpgrp(terminal) == os.getpgrp():
        termios.tcflush(terminal, termios.TCIFLUSH)


async def _answer() -> str | None:
    """Return a typed line, or all lines of a pasted text; None at the end of input."""
    terminal = sys.stdin.fileno()
    # A terminal in line mode is readable after a whole line has come, so nothing blocks here.
    await trio.lowlevel.wait_readable(terminal)
    data = os.read(terminal, LINE_BYTES_MAX)
    if not data:
        return None
    while True:
        with trio.move_on_after(QUIET_SECONDS) as pause:
            await trio.lowlevel.wait_readable(terminal)
        if pause.cancelled_caught:
            break
        more = os.read(terminal, LINE_BYTES_MAX)
        if not more:
            break
        data += more
    return (data + _last_line(terminal)).decode(errors="replace")


def _last_line(terminal: int) -> bytes:
    """Return the last line of a pasted text if no line end follows it.

    In line mode, a read from a terminal does not return such a line.
    """
    before = termios.tcgetattr(terminal)
    raw = [*before[:3], before[3] & ~termios.ICANON, *before[4:6], [*before[6]]]
    raw[6][termios.VMIN] = raw[6][termios.VTIME] = 0
    try:
        termios.tcsetattr(terminal, termios.TCSANOW, raw)
        return os.read(terminal, LINE_BYTES_MAX)
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
