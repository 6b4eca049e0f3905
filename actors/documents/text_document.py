"""Decodes text documents, and finds their lines, title, language and decimal mark. Pure."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from actors.documents.html_text import html_language, html_lines, html_title
from actors.documents.tables import markdown_lines, table_lines
from actors.quantities.decimal_marks import decimal_mark, language_of
from actors.quantities.numerals import DecimalMark

FILE_BYTES_MAX = 2 * 1024 * 1024
"""The bytes that are read of one document; the rest of a longer one is left out."""
TEXT = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
"""The file name suffixes of plain text."""
HTML = frozenset({".html", ".htm", ".xhtml"})
"""The file name suffixes of HTML pages."""
TABLES = frozenset({".csv", ".tsv"})
"""The file name suffixes of tables."""
_ODD = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\ufffd]")
_ODD_SHARE_MAX = 0.01


@dataclass(frozen=True, slots=True)
class Document:
    """A document that has been read."""

    name: str
    """Its path within the folder."""
    title: str
    """Its title; a document without a title has its name here."""
    lines: tuple[tuple[int, str], ...]
    """Its lines of text, each with its line number in the file."""
    decimal_mark: DecimalMark
    """The decimal mark, inferred from its numbers or its language; empty if it cannot be inferred."""
    language: str
    """Its language code, such as `de`; empty if it is not known."""
    places: tuple[tuple[tuple[int, str], ...], ...] = ()
    """For each line, the positions at which places of the file begin, such as cells; empty if line numbers suffice."""


def text_document(name: str, content: bytes, *, cut: bool = False) -> tuple[Document | None, str]:
    """Return a document from its bytes, and a notice.

    The notice says why there is no document, or names an encoding other than UTF-8; else it is empty. `cut` is true if
    the file has more bytes than these.
    """
    text, encoding = _decode_text(content, cut=cut)
    if text is None:
        return None, f"{name}: left out, since it is not text"
    return _document(name, text), f"{name}: not UTF-8, so it is read as {encoding}" if encoding else ""


def _document(name: str, text: str) -> Document:
    suffix = PurePosixPath(name).suffix.lower()
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
    """Return the text of a file, None if it is not text, and the name of its encoding if that is not UTF-8."""
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
