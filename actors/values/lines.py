"""Text for people as data: lines of styled spans, trees of lines, and HTML and Markdown of lines for notebooks.

A line is safe to print on a terminal: `line` and `verbatim` remove control characters (`runtime.logs.terminal_text`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from runtime.logs.terminal_text import clean

Style = Literal["", "bold", "dim", "red", "bold red", "green", "yellow", "cyan"]
"""The emphasis or colour of a span of text, for interfaces that can show it."""


class StyledSpan(NamedTuple):
    """A part of a line; the part has only one style."""

    text: str
    style: Style = ""
    run: str = ""
    """The id of the run that the text names; empty if it names no run."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text. The operator `+` joins two lines."""

    spans: tuple[StyledSpan, ...] = ()
    """The parts, from left to right."""
    hang: int = 0
    """If a terminal wraps the line: the indentation of the continuation lines, in columns."""

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join(span.text for span in self.spans)

    def __add__(self, other: "Line") -> "Line":
        return replace(self, spans=self.spans + other.spans)


BLANK = Line()


@dataclass(frozen=True, slots=True)
class LineTree:
    """A tree of lines: a line, and the trees below this line."""

    line: Line
    """The line at the top of this tree."""
    children: tuple["LineTree", ...] = ()
    """The trees below the line, in the order of display."""
    key: str = ""
    """The id of the search node whose prompt and reply a page can show for this line; empty if no node belongs to the
    line.
    """


def reword_line(item: Line, change: Callable[[str], str]) -> Line:
    """Return the line with `change` applied to each of its texts."""
    return replace(item, spans=tuple(span._replace(text=change(span.text)) for span in item.spans))


def reword_tree(tree: LineTree, change: Callable[[str], str]) -> LineTree:
    """Return the tree with `change` applied to each text of its lines."""
    children = tuple(reword_tree(child, change) for child in tree.children)
    return replace(tree, line=reword_line(tree.line, change), children=children)


def line(text: str, style: Style = "", *, hang: int = 0) -> Line:
    """Return any text as a line that is safe to print. Each sequence of white space becomes one space."""
    return Line((StyledSpan(clean(text, one_line=True), style),), hang)


def verbatim(text: str, style: Style = "") -> Line:
    """Return a text, such as code or JSON, as a line that is safe to print. White space is unchanged."""
    return Line((StyledSpan(clean(text), style),))


def diff_lines(rows: Iterable[str]) -> Iterator[Line]:
    """Yield the rows of a text diff, indented, and coloured according to their first character."""
    styles: dict[str, Style] = {"+": "green", "-": "red"}
    return (verbatim(f"     {row}", styles.get(row[:1], "dim")) for row in rows)


def indent_line(text: str, style: Style = "", *, columns: int = 3) -> Line:
    """Return any text as an indented line that is safe to print. The line's continuation lines are indented too."""
    return Line((StyledSpan(" " * columns), *line(text, style).spans), columns)


def columns(*parts: Line | str, hang: int = 0) -> Line:
    """Return one line with the parts side by side, two spaces apart.

    A part that is a string must already be safe to print, and padded to its width.
    """
    spans: list[StyledSpan] = []
    for number, part in enumerate(parts):
        spans += [StyledSpan("  ")] if number else []
        spans += [StyledSpan(part)] if isinstance(part, str) else part.spans
    return Line(tuple(spans), hang)


_CSS: dict[Style, str] = {
    "": "",
    "bold": "font-weight:bold",
    "dim": "opacity:0.7",
    "red": "color:#c9302c",
    "bold red": "color:#c9302c;font-weight:bold",
    "green": "color:#2e8540",
    "yellow": "color:#9a6700",
    "cyan": "color:#0b7285",
}
"""The CSS for each style of a span. The colours can be read on light and on dark pages."""


def html_of(lines: Iterable[Line]) -> str:
    """Return lines as one HTML element, without scripts."""
    from html import escape  # noqa: PLC0415 -- only a notebook needs it

    rows = []
    for row in lines:
        spans = (
            f'<span style="{_CSS[span.style]}">{escape(span.text)}</span>' if span.style else escape(span.text)
            for span in row.spans
        )
        rows.append("".join(spans))
    return f'<pre style="white-space:pre-wrap">{chr(10).join(rows)}</pre>'


def markdown_of(lines: Iterable[Line]) -> str:
    """Return lines as a code block of Markdown, with four spaces before each line."""
    return "\n".join(f"    {row.plain}".rstrip() for row in lines) + "\n"
