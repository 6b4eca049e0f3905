"""The layout of help, and the words of errors about a wrong command line."""

import re
import sys
from collections.abc import Iterable

import click

from replan.cli.terminal.width import width_of

HELP_WIDTH_MIN = 52
"""The least width, in columns, at which click's own layout fits the terminal."""
TERM_WIDTH_MIN = 8
"""The least width of the first column of a list, in columns of the terminal."""


class HelpFormatter(click.HelpFormatter):
    """Click's layout; on a narrow terminal the first column of a list has at most a quarter of the width."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        columns = width_of(sys.stdout)
        self._narrow = columns is not None and columns < HELP_WIDTH_MIN
        super().__init__(indent_increment, columns if self._narrow else width, max_width)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of terms with explanations. A term that is longer than the first column has its own line."""
        super().write_dl(list(rows), max(self.width // 4, TERM_WIDTH_MIN) if self._narrow else col_max, col_spacing)


WORDS = (
    (re.compile(r"is not a valid integer(?: range)?"), "is not a whole number"),
    (re.compile(r"is not a valid float(?: range)?"), "is not a number"),
    (re.compile(r"(?<!\S)(\S+) is not in the range x>=(\S+)"), r"should be at least \2, not \1"),
    (re.compile(r"(?<!\S)(\S+) is not in the range (\S+?)<=x<=(\S+)"), r"should be from \2 to \3, not \1"),
    (re.compile(r"is not ('[^']*')$"), r"is not one of \1"),
    (re.compile(r"^Got unexpected extra arguments? \((.*)\)"), r"there are too many arguments: \1"),
)
"""Patterns for click's words, and our words for each. Matching takes time linear in the length of the text."""


def explain_misuse(error: click.UsageError) -> str:
    """Return the argument or option that is wrong, and the cause, in one line."""
    place = _place(error)
    text = error.message if place else error.format_message()
    if isinstance(error, click.MissingParameter):
        choices = error.param.type.choices if error.param and isinstance(error.param.type, click.Choice) else ()
        what = "argument is missing" if isinstance(error.param, click.Argument) else "option is required"
        text = f"this {what}" + (f"; one of {', '.join(choices)}" if choices else "")
    text = " ".join(text.split()).rstrip(".")
    for pattern, words in WORDS:
        text = pattern.sub(words, text)
    return f"{place}: {text}" if place else text


def _place(error: click.UsageError) -> str:
    param = error.param if isinstance(error, click.BadParameter) else None
    if isinstance(param, click.Argument):
        return (param.metavar or param.name or "").upper()
    return param.opts[-1] if param is not None else ""
