"""The index of a folder's documents: SQLite's full-text search, in memory, with a ranking that is the same every time.

Letters match without regard to case and diacritics. Chinese, Japanese, Korean and Thai, which have no spaces between
words, match by pairs of characters. Words of five letters and more match by their beginning, so plurals are found.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

import apsw

from actors.documents.folder import TOTAL_BYTES_MAX, FileStamp, list_folder, read_file
from actors.documents.passages import QUERY_CHARACTERS_MAX, Passage, passages_of

TERMS_MAX = 40
"""Terms of a query; further words are not used."""
PER_SOURCE = 3
"""Passages of one document that come before those of others."""
READERS_MAX = 4
"""Files that are read at the same time."""
_CANDIDATES = 60
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(f"[{_UNSPACED}]+")
_TERM = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")


@dataclass(frozen=True)
class DocumentIndex:
    """The passages of a folder, and the search over them. It may be used from several threads."""

    passages: tuple[Passage, ...]
    """All passages, in the order of the documents."""
    notices: tuple[str, ...]
    """What is left out, and why, one line each."""
    documents: int
    """How many documents were read."""
    _connection: apsw.Connection
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def search(self, query: str, limit: int) -> list[Passage]:
        """Return the passages that fit a query best, the best first; none for a query without words."""
        terms = query_terms(query)
        if not terms or limit < 1:
            return []
        with self._lock:
            rows = self._connection.execute(
                "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY bm25(passages, 2.0, 1.0), rowid LIMIT ?",
                (" OR ".join(terms), _CANDIDATES),
            )
            found = [self.passages[int(str(row[0])) - 1] for row in rows]
        return _spread(found, limit)


def _spread(found: list[Passage], limit: int) -> list[Passage]:
    """Return the best passages, of which those of one document beyond `PER_SOURCE` come last."""
    seen: Counter[str] = Counter()
    first: list[Passage] = []
    later: list[Passage] = []
    for passage in found:
        seen[passage.source] += 1
        (first if seen[passage.source] <= PER_SOURCE else later).append(passage)
    return (first + later)[:limit]


def query_terms(query: str) -> list[str]:
    """Return the terms of a query in the language of full-text search; nothing in a query is an operator."""
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


def searchable(text: str) -> str:
    """Return a text as it is indexed: runs of unspaced scripts as overlapping pairs."""
    return _RUN.sub(lambda match: f" {' '.join(_pairs(match[0]))} ", text)


def open_index(folder: Path) -> DocumentIndex:
    """Return the index of a folder as it is now; it is built anew only after a file has changed.

    Raises:
        OSError: the folder cannot be read.
    """
    listing = list_folder(folder)
    return _build_index(folder, listing.files, listing.notices)


@lru_cache(maxsize=4)
def _build_index(folder: Path, files: tuple[FileStamp, ...], notices: tuple[str, ...]) -> DocumentIndex:
    told = list(notices)
    passages: list[Passage] = []
    count = 0
    size = 0
    with ThreadPoolExecutor(max_workers=READERS_MAX) as readers:  # Each waits for a process of its own.
        for read in readers.map(partial(read_file, folder), files):
            told += read.notices
            for document in read.documents:
                size += sum(len(line) for _, line in document.lines)
                if size > TOTAL_BYTES_MAX:
                    told.append(f"{document.name}: left out, since the folder has too much text")
                    continue
                count += 1
                passages += passages_of(document)
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE passages USING fts5(title, body, content='', tokenize=\"unicode61 remove_diacritics 2\")"
    )
    with connection:
        connection.executemany("INSERT INTO passages(rowid, title, body) VALUES (?, ?, ?)", _rows(passages))
    return DocumentIndex(tuple(passages), tuple(told), count, connection)


def _rows(passages: list[Passage]) -> Iterator[tuple[int, str, str]]:
    for number, passage in enumerate(passages, 1):
        yield number, searchable(f"{passage.source} {passage.title}"), searchable(passage.text)
