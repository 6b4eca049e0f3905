"""Reads a folder of documents, within limits; what is left out is listed in notices.

Files are read in the order of their paths. Links are not followed, and hidden files are left out silently.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from actors.documents.extract_archive import FORMATS
from actors.documents.extract_output import Extracted
from actors.documents.extract_process import extract_file
from actors.documents.text_document import FILE_BYTES_MAX, HTML, TABLES, TEXT, Document, text_document

FILES_MAX = 2000
"""Documents of one folder."""
TOTAL_BYTES_MAX = 24 * 1024 * 1024
"""Bytes of all text documents of a folder."""
OFFICE_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of all PDF and office files, e-mails and ZIP files of a folder."""
ENTRIES_MAX = 20_000
"""Files and folders that are looked at."""
DEPTH_MAX = 16
"""Levels of folders within the folder."""


READ = "text, Markdown, HTML, CSV, PDF, DOCX, XLSX, e-mails (EML) and ZIP files of these"
"""The formats, for people."""


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


def list_folder(folder: Path) -> Listing:
    """Return the documents of a folder and what is left out. Raises `OSError` where the folder cannot be read."""
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
            notices.append(f"{name}: left out, since it is a link or no file")
            continue
        if suffix not in TEXT | HTML | TABLES | set(FORMATS):
            notices.append(f"{name}: left out, since only {READ} are read")
            continue
        if suffix in FORMATS:
            office += status.st_size
        else:
            total += min(status.st_size, FILE_BYTES_MAX)
        if len(files) == FILES_MAX or total > TOTAL_BYTES_MAX or office > OFFICE_BYTES_MAX:
            notices.append(f"{name}: left out, since the folder has too many or too large documents")
        else:
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


def read_file(folder: Path, stamp: FileStamp) -> Extracted:
    """Return the documents of a file of a folder, and the notices about it."""
    if Path(stamp.name).suffix.lower() in FORMATS:
        return extract_file(folder / stamp.name, stamp.name, stamp.size, stamp.changed_ns)
    document, notice = read_document(folder, stamp.name)
    return Extracted(() if document is None else (document,), (notice,) if notice else ())


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
    document, told = text_document(name, content, cut=bool(notice))
    return document, (notice or told) if document is not None else told


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
