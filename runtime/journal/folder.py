"""The folder and the file that a journal lives in: private to the user, and nobody else's trick.

A problem statement and its answers can be confidential, and whoever can replace the file can steer a run. So the folder
is made 0700 and the file 0600 whatever the umask, and a symbolic link or a place where others may write is refused.
"""

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from runtime.core.errors import JournalError, JournalUnreadable, ReplanError, StorageFull, UsageProblem

FOLDER_MODE, FILE_MODE = 0o700, 0o600

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What the system says when there is no room left, or none left for this user."""

YOURS = "make it and the files beside it yours to write, or set REPLAN_HOME to another folder"
"""What to do about a journal that is there, but that this user may not open."""


def prepare_folder(folder: Path) -> None:
    """Make the folder if it is missing, and check that it is safe and can be written. Raises `UsageProblem`."""
    try:
        _make(folder)
        mode = folder.lstat().st_mode
    except OSError as error:
        raise explain(error, folder) from error
    place = str(folder)
    if stat.S_ISLNK(mode):
        raise UsageProblem("a symbolic link is not safe as a home", place=place, hint="name the folder it points to")
    if not stat.S_ISDIR(mode):
        raise UsageProblem("this is not a folder", place=place, hint="set REPLAN_HOME to a folder")
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageProblem("other users may write in this folder", place=place, hint=f"chmod go-w {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageProblem("this folder cannot be written", place=place, hint="set REPLAN_HOME to one that can")


def prepare_file(path: Path) -> None:
    """Make the file, empty, if it is missing; and make it private.

    Raises `JournalUnreadable` for what lies in its place; `UsageProblem`, `StorageFull` where it cannot be made.

    A file that is there is never opened: closing it would drop the locks that SQLite holds on it in this process, and
    another process could then take the write-ahead log away.
    """
    try:
        if not os.path.lexists(path):
            _make_file(path)
        mode = path.lstat().st_mode
    except OSError as error:
        raise explain(error, path) from error
    if stat.S_ISLNK(mode):
        raise JournalUnreadable(str(path), "a symbolic link is not safe as a journal", "put the file itself there")
    if not stat.S_ISREG(mode):
        raise JournalUnreadable(str(path), "this is not a file", "move it away")
    if stat.S_IMODE(mode) != FILE_MODE:
        try:
            path.chmod(FILE_MODE)
        except OSError as error:
            cause = f"it cannot be made private: {os.strerror(error.errno or 0).lower()}"
            raise JournalUnreadable(str(path), cause, YOURS) from error


def _make_file(path: Path) -> None:
    # Made beside its place and linked there, so that its own handle is closed before anyone can lock it.
    handle, made = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        os.close(handle)
        with suppress(FileExistsError):
            os.link(made, path)
    finally:
        Path(made).unlink()
    _sync(path.parent)


def _sync(folder: Path) -> None:
    # A new name survives a loss of power once the folder that holds it is on disk.
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def explain(error: OSError, path: Path) -> ReplanError:
    """Return the one line that says what the operating system's error means for a user."""
    if error.errno in FULL:
        return StorageFull(str(path))
    if error.errno is None:
        return JournalError(f"{path}: {error}")
    return UsageProblem(os.strerror(error.errno).lower(), place=str(path), hint="set REPLAN_HOME to a folder of yours")


def _make(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        return
    folder.chmod(FOLDER_MODE)
    _sync(folder.parent)
