"""The text of an HTML page, line by line with the line numbers of its source. Linear in the size of the page.

Scripts, styles and comments are left out. The standard library's parser takes quadratic time for some broken pages, so
tags are found here by their brackets alone.
"""

import html
import re
from collections.abc import Iterator

_RAW = frozenset({"script", "style", "template", "noscript", "svg"})
_BLOCK_ROWS = (
    "address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure footer form",
    "h1 h2 h3 h4 h5 h6 head header hr html li main nav ol option p pre section summary table",
    "tbody tfoot thead title tr ul",
)
_BLOCKS = frozenset(name for row in _BLOCK_ROWS for name in row.split())
_IN_PARAGRAPH = frozenset({"tr", "li", "br"})
_CELLS = frozenset({"td", "th"})
_HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9:-]*")
_LANGUAGE = re.compile(r"<html\b[^>]{0,500}?\blang\s*=\s*[\"']?([A-Za-z]{2,3}(?:-[A-Za-z]{2,4})?)", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^>]{0,200}>([^<]{0,500})", re.IGNORECASE)
_HEAD_CHARACTERS = 20_000


def html_lines(page: str) -> list[tuple[int, str]]:
    """Return the lines of a page's text, each with the number of the line in which it begins; headings have a `#`."""
    reader = _Lines()
    for line, kind, text in _pieces(page):
        if kind == "text":
            reader.text(line, text)
        else:
            reader.tag(line, text.lower())
    reader.end()
    return reader.lines


class _Lines:
    """Puts the pieces of a page together to lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, str]] = []
        self._parts: list[str] = []
        self._begins = 0
        self._heading = ""

    def text(self, line: int, text: str) -> None:
        """Add text to the line."""
        if not self._begins:
            rest = text.lstrip()
            if not rest:
                return
            self._begins = line + text.count("\n", 0, len(text) - len(rest))
        self._parts.append(text)

    def tag(self, line: int, name: str) -> None:
        """End the line at the tag of a block, and mark cells and headings."""
        if name in _CELLS and self._begins:
            self._parts.append(" | ")
        elif name.lstrip("/") in _BLOCKS:
            self.end()
            if name.lstrip("/") not in _IN_PARAGRAPH and self.lines and self.lines[-1][1]:
                self.lines.append((line, ""))
            self._heading = _HEADINGS.get(name, "")

    def end(self) -> None:
        """End the line."""
        text = " ".join(html.unescape("".join(self._parts)).split())
        if text:
            self.lines.append((self._begins, self._heading + text))
        self._parts.clear()
        self._begins = 0


def html_language(page: str) -> str:
    """Return the language that a page declares; empty for none."""
    found = _LANGUAGE.search(page[:_HEAD_CHARACTERS])
    return found[1] if found else ""


def html_title(page: str) -> str:
    """Return the title that a page declares; empty for none."""
    found = _TITLE.search(page[:_HEAD_CHARACTERS])
    return " ".join(html.unescape(found[1]).split()) if found else ""


def _pieces(page: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, "text" or "tag", text or name) from left to right."""
    place, line, lowered = 0, 1, page.lower()
    while place < len(page):
        bracket = page.find("<", place)
        end = len(page) if bracket < 0 else bracket
        if end > place:
            yield line, "text", page[place:end]
            line += page.count("\n", place, end)
        if bracket < 0:
            return
        name = _NAME.match(page, bracket + 1)
        if page.startswith("<!--", bracket):
            after = _after(page, "-->", bracket + 4)
        elif name is None and page[bracket + 1 : bracket + 2] not in {"!", "?"}:
            yield line, "text", "<"
            place = bracket + 1
            continue
        else:
            after = _after(page, ">", bracket + 1)
            if name is not None:
                yield line, "tag", name[0]
            if name is not None and name[0].lower() in _RAW:
                after = _after(page, ">", _after(lowered, f"</{name[0].lower()}", after))
        line += page.count("\n", bracket, after)
        place = after


def _after(page: str, mark: str, place: int) -> int:
    """Return the place behind the next mark; the page's end if there is none, so that nothing is searched twice."""
    found = page.find(mark, place)
    return len(page) if found < 0 else found + len(mark)
