"""Lines of text as HTML and Markdown, for notebooks. Every text is escaped: nothing in it becomes markup."""

from collections.abc import Iterable

from actors.values.lines import Line, Style

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
"""The styles of spans, in colours that can be read on a light and on a dark page."""


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
    """Return lines as a block of Markdown in which nothing has a meaning: each is indented by four spaces."""
    return "\n".join(f"    {row.plain}".rstrip() for row in lines) + "\n"
