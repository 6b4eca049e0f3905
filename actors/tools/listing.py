"""Listings of a workspace that is not a git repository: the names of its files with hashes of their contents.

The home stores the newest listings, so that later listings can be compared with them. No symbolic link is followed.
"""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from pathlib import Path

import orjson

from actors.tools.repository import decode_path
from actors.tools.workspace import key_of
from runtime.journal.folder import prepare_folder, replace_file

FILES_MAX = 20_000
DEPTH_MAX = 64
TOTAL_BYTES_MAX = 512 * 1024 * 1024
"""The largest number of bytes that one listing reads from files. Files that are unchanged since the last listing are
not read.
"""
KEPT = 50
PREFIX = "listing:"
"""The beginning of a listing's id."""

Listing = Mapping[str, tuple[str, str]]
"""For each file's path, two texts. The first is the hash of the file's content. The second has the file's size, times
and mode, and differs after a change."""


class TooManyFiles(Exception):
    """A folder has more files or bytes than a listing may have. The exception's message is the cause, in one line."""


def take_listing(folder: int, before: Listing) -> dict[str, tuple[str, str]]:
    """Return the listing of an open folder. A file that has not changed since the listing `before` is not read.

    Raises `TooManyFiles`, `OSError`.
    """
    listing: dict[str, tuple[str, str]] = {}
    left = TOTAL_BYTES_MAX
    with closing(_walk(folder, b"", 0)) as entries:
        for path, status, parent, name in entries:
            if len(listing) >= FILES_MAX:
                raise TooManyFiles(f"the folder has more than {FILES_MAX:,} files")
            text, mark = decode_path(path), ".".join(map(str, _change_marks(status)))
            if before.get(text, ("", ""))[1] == mark:
                listing[text] = before[text]
                continue
            left -= status.st_size if stat.S_ISREG(status.st_mode) else 0
            if left < 0:
                raise TooManyFiles(f"the changed files have more than {TOTAL_BYTES_MAX:,} bytes")
            with suppress(FileNotFoundError):  # The file was removed meanwhile.
                listing[text] = (_content_text(parent, name, status), mark)
    return listing


def changes(before: Listing, after: Listing) -> set[str]:
    """Return the paths that are in only one of two listings, or whose contents differ."""
    return {path for path in {*before, *after} if before.get(path, ("", ""))[0] != after.get(path, ("", ""))[0]}


def id_of(listing: Listing) -> str:
    """Return the id of a listing, which depends only on its names and contents."""
    contents = sorted((path, digest) for path, (digest, _) in listing.items())
    return f"{PREFIX}{hashlib.sha256(orjson.dumps(contents)).hexdigest()[:32]}"


def keep(listing: Listing, workspace: Path, home: Path) -> str:
    """Store a listing in the home, and return its id. Only the newest `KEPT` listings are kept.

    Raises `UsageProblem`, `OSError`.
    """
    folder = _folder(workspace, home)
    prepare_folder(folder)
    name = id_of(listing)
    replace_file(folder / f"{name.removeprefix(PREFIX)}.json", orjson.dumps(listing))
    for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)[:-KEPT]:
        old.unlink(missing_ok=True)
    return name


def find_listing(name: str, workspace: Path, home: Path) -> Listing | None:
    """Return the listing with an id; None if the home no longer has it."""
    if not re.fullmatch(rf"{PREFIX}[0-9a-f]{{32}}", name):
        return None
    with suppress(FileNotFoundError, orjson.JSONDecodeError, ValueError):
        value = orjson.loads((_folder(workspace, home) / f"{name.removeprefix(PREFIX)}.json").read_bytes())
        return {path: (digest, mark) for path, (digest, mark) in value.items()}
    return None


def copy_listings(workspace: Path, other: Path, home: Path) -> None:
    """Copy the listings of a workspace to another workspace with the same files. Raises `OSError`."""
    folder = _folder(other, home)
    for kept in _folder(workspace, home).glob("*.json"):
        if not (folder / kept.name).exists():
            shutil.copy2(kept, folder / kept.name)


def forget_listings(workspace: Path, home: Path) -> None:
    """Remove the listings of a workspace that no longer exists."""
    shutil.rmtree(_folder(workspace, home), ignore_errors=True)


def _folder(workspace: Path, home: Path) -> Path:
    return home / "workspaces" / f"{key_of(workspace)}.listings"


def _change_marks(status: os.stat_result) -> tuple[int, ...]:
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _walk(folder: int, prefix: bytes, depth: int) -> Generator[tuple[bytes, os.stat_result, int, bytes]]:
    """Yield each file below an open folder: its path, its status, the open folder that contains it, and its name.

    Folders with the name `.git` are not yielded. A folder that cannot be read is yielded like a file.
    """
    if depth > DEPTH_MAX:
        raise TooManyFiles(f"the folders are nested more than {DEPTH_MAX} deep")
    for name in sorted(os.fsencode(o) for o in os.listdir(folder)):
        path = prefix + name
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:  # The folder was removed meanwhile.
            continue
        if not stat.S_ISDIR(status.st_mode):
            yield path, status, folder, name
            continue
        if name == b".git":
            continue
        try:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            yield path, status, folder, name
            continue
        try:
            yield from _walk(below, path + b"/", depth + 1)
        finally:
            os.close(below)


def _content_text(parent: int, name: bytes, status: os.stat_result) -> str:
    """Return a text that identifies a file's kind, its executable mode, and the hash of its content or target."""
    if stat.S_ISLNK(status.st_mode):
        return f"l{hashlib.sha256(os.readlink(name, dir_fd=parent)).hexdigest()[:32]}"
    if not stat.S_ISREG(status.st_mode):
        return f"s{stat.S_IFMT(status.st_mode):o}"
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except PermissionError:
        return "u"
    with os.fdopen(handle, "rb") as file:
        kind = "x" if status.st_mode & stat.S_IXUSR else "f"
        return f"{kind}{hashlib.file_digest(file, 'sha256').hexdigest()[:32]}"
