"""The index of a folder's documents. The index uses SQLite's full-text search, in memory.

The same query gives the same ranking every time.

Files are read in the order of their paths, until a limit is reached. Notices name the files that are not read. Links
are not followed, and hidden files are ignored without a notice.

A search ignores case and diacritics. In Chinese, Japanese, Korean and Thai, which have no spaces between words, it
compares pairs of characters. A word of at least five letters also matches words that only begin like it, so plurals are
found.
"""

import os
import re
import stat
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import apsw

from replan_acquire.documents.extract_process import Extracted, extract_file, is_extracted
from replan_acquire.documents.passages import QUERY_CHARACTERS_MAX, Passage, passages_of
from replan_acquire.documents.text_document import FILE_BYTES_MAX, HTML, TABLES, TEXT, Document, text_document

FILES_MAX = 2000
TOTAL_BYTES_MAX = 24 * 1024 * 1024
"""The largest total size, in bytes, of the text documents of one folder. Further documents are left out."""
OFFICE_BYTES_MAX = 256 * 1024 * 1024
ENTRIES_MAX = 20_000
DEPTH_MAX = 16
"""The largest number of levels of nested folders that are read in a folder of documents."""


READ = "text, Markdown, HTML, CSV, PDF, DOCX, XLSX, e-mails (EML) and ZIP files of these"


class FileStamp(NamedTuple):
    """The state of a file when the folder was listed. If the stamp differs later, the content has changed."""

    name: str
    size: int
    changed_ns: int
    """The time of the file's last change, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder that may be documents, ordered by name, and a notice about each file that is not read."""

    files: tuple[FileStamp, ...]
    notices: tuple[str, ...]


def list_folder(folder: Path) -> Listing:
    """Return the files of a folder. Raises `OSError` if the folder cannot be read."""
    files: list[FileStamp] = []
    notices: list[str] = []
    total = office = 0
    for name, entry in _walk(folder, notices):
        suffix = Path(name).suffix.lower()
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            notices.append(f"{name}: cannot be read: {_reason(error)}")
            continue
        if not stat.S_ISREG(status.st_mode):
            notices.append(f"{name}: left out, because it is a link or not a regular file")
            continue
        extracted = suffix not in TEXT | HTML | TABLES
        if extracted and not is_extracted(suffix):
            notices.append(f"{name}: left out, because only {READ} are read")
            continue
        if extracted:
            office += status.st_size
        else:
            total += min(status.st_size, FILE_BYTES_MAX)
        if len(files) == FILES_MAX or total > TOTAL_BYTES_MAX or office > OFFICE_BYTES_MAX:
            notices.append(f"{name}: left out, because the folder's documents are too many, or too large together")
        else:
            files.append(FileStamp(name, status.st_size, status.st_mtime_ns))
    return Listing(tuple(files), tuple(notices))


def _walk(folder: Path, notices: list[str]) -> "Iterator[tuple[str, os.DirEntry[str]]]":
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
                notices.append(
                    f"{name}: left out with all later files, because the limit is {ENTRIES_MAX:,} files and folders"
                )
                return
            if not entry.is_dir(follow_symlinks=False):
                yield name, entry
            elif depth == DEPTH_MAX:
                notices.append(f"{name}: left out, because the folder is nested more than {DEPTH_MAX} levels deep")
            else:
                below.append((name, depth + 1))
        left += reversed(below)


def read_file(folder: Path, stamp: FileStamp) -> Extracted:
    """Return the documents in a file of a folder, and notices about the file."""
    if is_extracted(Path(stamp.name).suffix.lower()):
        return extract_file(folder / stamp.name, stamp.name, stamp.size, stamp.changed_ns)
    document, notice = read_document(folder, stamp.name)
    return Extracted(() if document is None else (document,), (notice,) if notice else ())


def read_document(folder: Path, name: str) -> tuple[Document | None, str]:
    """Return the document in a text file, and a notice about the file.

    The document is None if the file is not text. The notice may be empty.
    """
    try:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        return None, f"{name}: cannot be read: {_reason(error)}"
    notice = ""
    if len(content) > FILE_BYTES_MAX:
        content = content[:FILE_BYTES_MAX]
        notice = f"{name}: only the first {FILE_BYTES_MAX // 1024} KiB are read"
    document, encoding_notice = text_document(name, content, cut=bool(notice))
    return document, (notice or encoding_notice) if document is not None else encoding_notice


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


TERMS_MAX = 40
PER_SOURCE = 3
"""The number of a document's best passages that keep their rank. The document's further passages come last."""
READERS_MAX = 4
_CANDIDATES = 60
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(f"[{_UNSPACED}]+")
_TERM = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")


@dataclass(frozen=True)
class DocumentIndex:
    """The passages of a folder, and the search over them. Several threads may use it."""

    passages: tuple[Passage, ...]
    notices: tuple[str, ...]
    documents: int
    _connection: apsw.Connection
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def search(self, query: str, limit: int) -> list[Passage]:
        """Return the passages that match a query, the best first; empty for a query without words."""
        terms = query_terms(query)
        if not terms or limit < 1:
            return []
        with self._lock:
            rows = self._connection.execute(
                "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY bm25(passages, 2.0, 1.0), rowid LIMIT ?",
                (" OR ".join(terms), _CANDIDATES),
            )
            found = [self.passages[int(str(row[0])) - 1] for row in rows]
        return _limit_per_source(found, limit)


def _limit_per_source(found: list[Passage], limit: int) -> list[Passage]:
    """Return the best passages.

    Of each document, only the best `PER_SOURCE` passages keep their rank; further ones come last.
    """
    seen: Counter[str] = Counter()
    first: list[Passage] = []
    later: list[Passage] = []
    for passage in found:
        seen[passage.source] += 1
        (first if seen[passage.source] <= PER_SOURCE else later).append(passage)
    return (first + later)[:limit]


def query_terms(query: str) -> list[str]:
    """Return the words of a query in the syntax of SQLite's full-text search. No word acts as an operator."""
    terms: dict[str, None] = {}
    for match in _TERM.finditer(query[:QUERY_CHARACTERS_MAX]):
        word = match[0]
        if _RUN.fullmatch(word):
            pairs = _pairs(word)
            terms[f'"{pairs[0]}"*' if len(word) == 1 else f'"{" ".join(pairs)}"'] = None
        else:
            stem = word[:-2] if len(word) >= 8 else word.removesuffix("s") if len(word) >= 5 else word
            terms[f'"{stem}"*' if len(stem) >= 4 and not word.isdigit() else f'"{word}"'] = None
        if len(terms) == TERMS_MAX:
            break
    return list(terms)


def _pairs(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(max(1, len(run) - 1))]


def _index_text(text: str) -> str:
    return _RUN.sub(lambda match: f" {' '.join(_pairs(match[0]))} ", text)


def open_index(folder: Path) -> DocumentIndex:
    """Return the index of a folder. The index is built again only if a file has changed.

    Raises:
        OSError: the folder cannot be read.
    """
    listing = list_folder(folder)
    return _build_index(folder, listing.files, listing.notices)


@lru_cache(maxsize=4)
def _build_index(folder: Path, files: tuple[FileStamp, ...], notices: tuple[str, ...]) -> DocumentIndex:
    all_notices = list(notices)
    passages: list[Passage] = []
    count = 0
    size = 0
    with ThreadPoolExecutor(max_workers=READERS_MAX) as readers:  # Each thread waits for a process of its own.
        for read in readers.map(partial(read_file, folder), files):
            all_notices += read.notices
            for document in read.documents:
                size += sum(len(line) for _, line in document.lines)
                if size > TOTAL_BYTES_MAX:
                    all_notices.append(f"{document.name}: left out, because the folder has too much text")
                    continue
                count += 1
                passages += passages_of(document)
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE passages USING fts5(title, body, content='', tokenize=\"unicode61 remove_diacritics 2\")"
    )
    with connection:
        connection.executemany("INSERT INTO passages(rowid, title, body) VALUES (?, ?, ?)", _rows(passages))
    return DocumentIndex(tuple(passages), tuple(all_notices), count, connection)


def _rows(passages: list[Passage]) -> Iterator[tuple[int, str, str]]:
    for number, passage in enumerate(passages, 1):
        yield number, _index_text(f"{passage.source} {passage.title}"), _index_text(passage.text)
