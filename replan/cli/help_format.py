"""The layout of help: it is folded to the terminal, however narrow that is."""

import sys
from collections.abc import Iterable

import click

from replan.cli.terminal.width import width_of

HELP_WIDTH_MIN = 52
"""The number of columns below which click would let the terminal fold the lines."""
TERM_WIDTH_MIN = 8
"""The least width of the first column of a list."""


class HelpFormatter(click.HelpFormatter):
    """Click's layout; on a narrow terminal the first column of a list has at most a quarter of the width."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        columns = width_of(sys.stdout)
        self._narrow = columns is not None and columns < HELP_WIDTH_MIN
        super().__init__(indent_increment, columns if self._narrow else width, max_width)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of terms with their explanations; a term that is too long has a line of its own."""
        super().write_dl(list(rows), max(self.width // 4, TERM_WIDTH_MIN) if self._narrow else col_max, col_spacing)
