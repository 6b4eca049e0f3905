"""Text documents: their bytes as text, their lines, language and decimal mark. Pure."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from actors.documents.html_text import html_language, html_lines, html_title
from actors.documents.tables import markdown_lines, table_lines
from actors.quantities.decimal_marks import decimal_mark, language_of
from actors.quantities.numerals import DecimalMark

FILE_BYTES_MAX = 2 * 1024 * 1024
"""Bytes of one document; a longer one is read up to there."""
TEXT = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
"""The endings of plain texts."""
HTML = frozenset({".html", ".htm", ".xhtml"})
"""The endings of HTML pages."""
TABLES = frozenset({".csv", ".tsv"})
"""The endings of tables."""
_ODD = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\ufffd]")
_ODD_SHARE_MAX = 0.01


@dataclass(frozen=True, slots=True)
class Document:
    """A document that has been read."""

    name: str
    """Its path within the folder."""
    title: str
    """Its title; its name where it has none."""
    lines: tuple[tuple[int, str], ...]
    """Its lines of text with their numbers in the file."""
    decimal_mark: DecimalMark
    """The decimal mark that its numbers or its language show; empty where nothing tells."""
    language: str
    """Its language as a code; empty where it is not clear."""
    places: tuple[tuple[tuple[int, str], ...], ...] = ()
    """For each line, where in it each place of the file begins; empty where the numbers of the lines tell it."""


def text_document(name: str, content: bytes, *, cut: bool = False) -> tuple[Document | None, str]:
    """Return a document from its bytes, and a notice about it: why there is none, or its encoding; mostly empty.

    `cut` tells that the file goes on behind the bytes.
    """
    text, encoding = _decoded(content, cut=cut)
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


def _decoded(content: bytes, *, cut: bool) -> tuple[str | None, str]:
    """Return a file's text and the name of its encoding if that is not UTF-8; None for one that is not text."""
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
