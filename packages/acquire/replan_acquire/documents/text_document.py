"""Decodes text documents, and finds their lines, title, language and decimal mark. Pure.

Of HTML pages, scripts, styles, comments and struck-out text are not read. Superscript digits stay superscript. The
standard library's parser needs quadratic time for some broken pages, so this module finds tags only by their brackets.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from replan_acquire.documents.tables import markdown_lines, row_texts, table_lines
from replan_acquire.quantities.numerals import DecimalMark, decimal_mark, language_of

RAISED = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
"""A map from digits to superscript digits, for `str.translate`. With superscript digits, the number of a footnote does
not become a part of the number before it.
"""
LIGATURES = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
    }
)
"""A map from ligatures to their letters, for `str.translate`."""


_RAW = frozenset({"script", "style", "template", "noscript", "svg"})
_BLOCK_ROWS = (
    "address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure footer form",
    "h1 h2 h3 h4 h5 h6 head header hr html li main nav ol option p pre section summary table",
    "tbody tfoot thead title tr ul",
)
_BLOCKS = frozenset(name for row in _BLOCK_ROWS for name in row.split())
_IN_PARAGRAPH = frozenset({"tr", "li", "br"})
_STRUCK = frozenset({"del", "s", "strike"})
_CELLS = frozenset({"td", "th"})
_OF_TABLES = frozenset({"table", "tr", "caption", "thead", "tbody", "tfoot"})
_CELL = "\x1f"
_SPAN = re.compile(r"\b(?P<way>col|row)span\s*=\s*[\"']?(?P<number>\d{1,4})")
_TAG_CHARACTERS = 500
_HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9:-]*")
_LANGUAGE = re.compile(r"<html\b[^>]{0,500}?\blang\s*=\s*[\"']?([A-Za-z]{2,3}(?:-[A-Za-z]{2,4})?)", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^>]{0,200}>([^<]{0,500})", re.IGNORECASE)
_HEAD_CHARACTERS = 20_000


def html_lines(page: str) -> list[tuple[int, str]]:
    """Return the lines of a page's text, each with the number of the file's line in which it begins.

    A heading begins with `#`. In tables, each cell has the name of its column before it.
    """
    reader = _Lines()
    for line, kind, text in _pieces(page):
        if kind == "text":
            reader.add_text(line, text)
        else:
            reader.tag(line, text.lower())
    reader.end()
    return reader.finish_tables()


class _Lines:
    def __init__(self) -> None:
        self.lines: list[tuple[int, str]] = []
        self._parts: list[str] = []
        self._begins = 0
        self._heading = ""
        self._in_row = False
        self._tables: list[tuple[int, int, bool]] = []
        self._rows: dict[int, list[str]] = {}
        self._merged = False
        self._spanned = False
        self._open = -1
        self._inside: Counter[str] = Counter()
        """How many tags of each name are open, for tags that change the meaning of their text."""

    def add_text(self, line: int, text: str) -> None:
        """Add a text to the current line."""
        if any(self._inside[name] for name in _STRUCK):
            return
        if self._inside["sup"]:
            text = text.translate(RAISED)
        if not self._begins:
            rest = text.lstrip()
            if not rest:
                return
            self._begins = line + text.count("\n", 0, len(text) - len(rest))
        self._parts.append(text)

    def tag(self, line: int, tag: str) -> None:
        """Process a tag.

        Process a tag. A tag of a block ends the current line; other tags begin a cell or mark a heading.
        """
        match = _NAME.match(tag)
        name = match[0] if match else ""
        bare = name.lstrip("/")
        if bare in _STRUCK or bare == "sup":
            self._inside[bare] = max(0, self._inside[bare] + (-1 if name.startswith("/") else 1))
        if name in _CELLS and self._open >= 0:
            self._begin_cell(line, tag)
        elif bare in _BLOCKS and not (self._in_row and bare not in _OF_TABLES):
            self.end()
            if bare not in _IN_PARAGRAPH and self.lines and self.lines[-1][1]:
                self.lines.append((line, ""))
            self._heading = _HEADINGS.get(name, "")
            self._switch_table(name)
        elif self._in_row and self._begins:
            self._parts.append(" ")

    def _switch_table(self, name: str) -> None:
        if name in ("table", "/table") and self._open >= 0:
            self._tables.append((self._open, len(self.lines), self._merged))
            self._open = -1
        if name == "table":
            self._open, self._merged = len(self.lines), False
        self._in_row = name == "tr"

    def _begin_cell(self, line: int, tag: str) -> None:
        self._begins = self._begins or line
        self._in_row = True
        spans = {match["way"]: int(match["number"]) for match in _SPAN.finditer(tag)}
        self._merged = self._merged or spans.get("row", 1) > 1 or (spans.get("col", 1) > 1 and _CELL in self._parts)
        self._merged = self._merged or (_CELL in self._parts and self._spanned)
        self._spanned = spans.get("col", 1) > 1
        self._parts.append(_CELL)

    def end(self) -> None:
        """End the current line."""
        cells = [" ".join(html.unescape(cell).split()) for cell in "".join(self._parts).split(_CELL)]
        text = " | ".join(cells[1:]) if len(cells) > 1 else cells[0]
        if any(cells):
            if self._open >= 0:
                self._rows[len(self.lines)] = cells[1:] if len(cells) > 1 else cells
            self.lines.append((self._begins, self._heading + text))
        self._parts.clear()
        self._begins = 0

    def finish_tables(self) -> list[tuple[int, str]]:
        """Return the lines. In tables, each cell has the name of its column before it."""
        found: list[tuple[int, str]] = []
        place = 0
        if self._open >= 0:
            self._tables.append((self._open, len(self.lines), self._merged))
        for first, behind, merged in self._tables:
            found += self.lines[place:first]
            rows = [(self.lines[at][0], self._rows[at]) for at in range(first, behind) if at in self._rows]
            found += row_texts(rows, merged=merged)
            place = behind
        return found + self.lines[place:]


def html_language(page: str) -> str:
    """Return the language that a page declares; empty if it declares none."""
    found = _LANGUAGE.search(page[:_HEAD_CHARACTERS])
    return found[1] if found else ""


def html_title(page: str) -> str:
    """Return the title that a page declares; empty if it declares none."""
    found = _TITLE.search(page[:_HEAD_CHARACTERS])
    return " ".join(html.unescape(found[1]).split()) if found else ""


def _pieces(page: str) -> Iterator[tuple[int, str, str]]:
    """Yield the texts and tags of an HTML page as (line number, "text" or "tag", content)."""
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
            after = _find_end(page, "-->", bracket + 4)
        elif name is None and page[bracket + 1 : bracket + 2] not in {"!", "?"}:
            yield line, "text", "<"
            place = bracket + 1
            continue
        else:
            after = _find_end(page, ">", bracket + 1)
            if name is not None:
                yield line, "tag", page[bracket + 1 : min(after, bracket + _TAG_CHARACTERS)]
            if name is not None and name[0].lower() in _RAW:
                after = _find_end(page, ">", _find_end(lowered, f"</{name[0].lower()}", after))
        line += page.count("\n", bracket, after)
        place = after


def _find_end(page: str, mark: str, position: int) -> int:
    """Return the offset after the next `mark`, or the end of the page if there is none."""
    found = page.find(mark, position)
    return len(page) if found < 0 else found + len(mark)


FILE_BYTES_MAX = 2 * 1024 * 1024
"""The largest number of bytes of one document that are read. Further bytes of a longer document are left out."""
TEXT = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
HTML = frozenset({".html", ".htm", ".xhtml"})
TABLES = frozenset({".csv", ".tsv"})
_ODD = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\ufffd]")
_ODD_SHARE_MAX = 0.01


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document, and what is known about it."""

    name: str
    title: str
    """The title; the name if the document has no title."""
    lines: tuple[tuple[int, str], ...]
    """The lines of text, each with its line number in the file."""
    decimal_mark: DecimalMark
    """The decimal mark, inferred from the numbers or the language; empty if it cannot be inferred."""
    language: str
    """The document's language code, such as `de`; empty if it is unknown."""
    places: tuple[tuple[tuple[int, str], ...], ...] = ()
    """For each line, pairs: an offset, and the name of the file's place that begins there, such as a cell. Empty if
    line numbers are enough.
    """


def text_document(name: str, content: bytes, *, cut: bool = False) -> tuple[Document | None, str]:
    """Return the document in the bytes of a file, or None, and a notice.

    The notice says why there is no document, or names the encoding if it is not UTF-8; otherwise it is empty. `cut`
    tells whether the file has more bytes than `content`.
    """
    text, encoding = _decode_text(content, cut=cut)
    if text is None:
        return None, f"{name}: left out, because the file is not text"
    return _document(name, text), f"{name}: the file is not UTF-8, so it is read as {encoding}" if encoding else ""


def _document(name: str, text: str) -> Document:
    suffix = f".{name.rpartition('.')[2].lower()}"
    language, title = "", ""
    if suffix in HTML:
        lines, language, title = html_lines(text), html_language(text), html_title(text)
    elif suffix in TABLES:
        lines = table_lines(text)
    else:
        lines = markdown_lines(list(enumerate(text.splitlines(), 1)))
    plain = "\n".join(line for _, line in lines)
    language = language or ("" if suffix in TABLES else language_of(plain))
    title = title or next((line.strip("# ") for _, line in lines[:50] if line.startswith("#")), "") or name
    return Document(name, title[:200], tuple(lines), decimal_mark(plain, language), language.partition("-")[0].lower())


def _decode_text(content: bytes, *, cut: bool) -> tuple[str | None, str]:
    """Return the text of a file, and the name of its encoding if that is not UTF-8.

    The text is None if the file does not contain text.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.decode("utf-16", "replace")
        return (None, "") if "\x00" in text else (text, "")
    if b"\x00" in content:
        return None, ""
    encoding = ""
    try:
        text = content.decode("utf-8-sig", "ignore" if cut else "strict")
    except UnicodeDecodeError:
        text, encoding = content.decode("cp1252", "replace"), "Windows-1252"
    odd = len(_ODD.findall(text))
    return (None, "") if odd > _ODD_SHARE_MAX * len(text) else (text, encoding)
