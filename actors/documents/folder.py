"""Reads a folder of documents, within limits; what is left out is listed in notices.

Files are read in the order of their paths. Links are not followed, and hidden files are left out silently.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from actors.documents.html_text import html_language, html_lines, html_title
from actors.documents.tables import markdown_lines, table_lines
from actors.quantities.decimal_marks import decimal_mark, language_of
from actors.quantities.numerals import DecimalMark

FILES_MAX = 2000
"""Documents of one folder."""
FILE_BYTES_MAX = 2 * 1024 * 1024
"""Bytes of one document; a longer one is read up to there."""
TOTAL_BYTES_MAX = 24 * 1024 * 1024
"""Bytes of all documents of a folder."""
ENTRIES_MAX = 20_000
"""Files and folders that are looked at."""
DEPTH_MAX = 16
"""Levels of folders within the folder."""

_TEXT = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
_HTML = frozenset({".html", ".htm", ".xhtml"})
_TABLES = frozenset({".csv", ".tsv"})
_ODD = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\ufffd]")
_ODD_SHARE_MAX = 0.01


class FileStamp(NamedTuple):
    """A file as it was when the folder was looked at; another stamp means another content."""

    name: str
    """Its path within the folder, with slashes."""
    size: int
    """Its bytes."""
    changed_ns: int
    """When it was changed last, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder that may be documents."""

    files: tuple[FileStamp, ...]
    """The files, ordered by name."""
    notices: tuple[str, ...]
    """What is left out, and why, one line each."""


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


def list_folder(folder: Path) -> Listing:
    """Return the documents of a folder and what is left out. Raises `OSError` where the folder cannot be read."""
    files: list[FileStamp] = []
    notices: list[str] = []
    total = 0
    for name, entry in _walk(folder, notices):
        suffix = Path(name).suffix.lower()
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            notices.append(f"{name}: cannot be read: {_reason(error)}")
            continue
        if not stat.S_ISREG(status.st_mode):
            notices.append(f"{name}: left out, since it is a link or no file")
        elif suffix not in _TEXT | _HTML | _TABLES:
            notices.append(f"{name}: left out, since only text, Markdown, HTML and CSV are read")
        elif len(files) == FILES_MAX or total + min(status.st_size, FILE_BYTES_MAX) > TOTAL_BYTES_MAX:
            notices.append(f"{name}: left out, since the folder has too many or too large documents")
        else:
            total += min(status.st_size, FILE_BYTES_MAX)
            files.append(FileStamp(name, status.st_size, status.st_mtime_ns))
    return Listing(tuple(files), tuple(notices))


def _walk(folder: Path, notices: list[str]) -> "Iterator[tuple[str, os.DirEntry[str]]]":
    """Yield the files below a folder in the order of their paths."""
    count = 0
    left = [("", 0)]
    while left:
        inner, depth = left.pop()
        try:
            with os.scandir(folder / inner if inner else folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not inner:
                raise
            notices.append(f"{inner}: cannot be read: {_reason(error)}")
            continue
        below = []
        for entry in found:
            name = f"{inner}/{entry.name}" if inner else entry.name
            if entry.name.startswith("."):
                continue
            count += 1
            if count > ENTRIES_MAX:
                notices.append(f"{name}: left out with all that follow, after {ENTRIES_MAX:,} files and folders")
                return
            if not entry.is_dir(follow_symlinks=False):
                yield name, entry
            elif depth == DEPTH_MAX:
                notices.append(f"{name}: left out, since it lies over {DEPTH_MAX} levels deep")
            else:
                below.append((name, depth + 1))
        left += reversed(below)


def read_document(folder: Path, name: str) -> tuple[Document | None, str]:
    """Return a document, and a notice about it: why there is none, or what is special about it; mostly empty."""
    try:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        return None, f"{name}: cannot be read: {_reason(error)}"
    notice = ""
    if len(content) > FILE_BYTES_MAX:
        content = content[:FILE_BYTES_MAX]
        notice = f"{name}: only its first {FILE_BYTES_MAX // 1024} KiB are read"
    text, encoding = _decoded(content, cut=bool(notice))
    if text is None:
        return None, f"{name}: left out, since it is not text"
    if encoding:
        notice = notice or f"{name}: not UTF-8, so it is read as {encoding}"
    return _document(name, text), notice


def _document(name: str, text: str) -> Document:
    suffix = Path(name).suffix.lower()
    language, title = "", ""
    if suffix in _HTML:
        lines, language, title = html_lines(text), html_language(text), html_title(text)
    elif suffix in _TABLES:
        lines = table_lines(text)
    else:
        lines = markdown_lines(list(enumerate(text.splitlines(), 1)))
    plain = "\n".join(line for _, line in lines)
    language = language or ("" if suffix in _TABLES else language_of(plain))
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


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
