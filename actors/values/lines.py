"""Text for people as data: lines of styled spans, and trees of lines. Views make them; only faces write them anywhere.

Text from models and users is made safe for a terminal when a line is made (`runtime.logs.terminal_text`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from runtime.logs.terminal_text import clean

Style = Literal["", "bold", "dim", "red", "bold red", "green", "yellow", "cyan"]
"""How a span is emphasized, where the face can show it."""


class Span(NamedTuple):
    """A part of a line in one style."""

    text: str
    style: Style = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text. Lines are joined by `+`."""

    spans: tuple[Span, ...] = ()
    """The parts, from left to right."""
    hang: int = 0
    """The column at which the line continues where a terminal folds it."""

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join(span.text for span in self.spans)

    def __add__(self, other: "Line") -> "Line":
        return replace(self, spans=self.spans + other.spans)


BLANK = Line()
"""An empty line."""


@dataclass(frozen=True, slots=True)
class LineTree:
    """A line, and the trees under it."""

    line: Line
    """What stands at this place."""
    children: tuple["LineTree", ...] = ()
    """What hangs under it, in order."""


def line(text: str, style: Style = "", *, hang: int = 0) -> Line:
    """Return one line of any text, safe to show; runs of white space become one space."""
    return Line((Span(clean(text, one_line=True), style),), hang)


def verbatim(text: str, style: Style = "") -> Line:
    """Return one line of any text with its own white space, as in a program or JSON, safe to show."""
    return Line((Span(clean(text), style),))


def indented(text: str, style: Style = "", *, columns: int = 3) -> Line:
    """Return one line of any text, safe to show, indented also where it is folded."""
    return Line((Span(" " * columns), *line(text, style).spans), columns)


def columns(*parts: Line | str, hang: int = 0) -> Line:
    """Return the parts side by side, two spaces apart. A string is our own text, padded already."""
    spans: list[Span] = []
    for number, part in enumerate(parts):
        spans += [Span("  ")] if number else []
        spans += [Span(part)] if isinstance(part, str) else part.spans
    return Line(tuple(spans), hang)


def plain_text(lines: Iterable[Line]) -> str:
    """Return lines as text without styles, each ended by a line feed."""
    return "".join(f"{each.plain.rstrip()}\n" for each in lines)
