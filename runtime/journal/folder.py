"""The folder and the file of a journal: private to the user, and safe from other users.

Problem statements and answers can be confidential, and a user who can replace the file can control a run. So the folder
gets the mode 0700 and the file 0600, regardless of the umask. A symbolic link is refused, and so is a folder in which
other users can write.
"""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from runtime.core.errors import JournalError, JournalMoved, JournalUnreadable, ReplanError, StorageFull, UsageProblem

FOLDER_MODE, FILE_MODE = 0o700, 0o600

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The error numbers of the system for a full disk and for a full quota."""

USE_ANOTHER = "use another folder"


def access_hint(use_another: str) -> str:
    """Return the hint for the error message about a journal that this user must not open."""
    return f"make the file and the files beside it writable, or {use_another}"


def prepare_folder(folder: Path, use_another: str = USE_ANOTHER, *, write: bool = True) -> None:
    """Make the folder if it is missing, and check that it is safe and writable. Raises `UsageProblem`.

    `use_another` says how to choose another folder. If `write` is false, the folder must exist already, but need not be
    writable.
    """
    try:
        if write:
            _make(folder)
        status = folder.lstat()
    except OSError as error:
        raise explain(error, folder, use_another) from error
    place, mode = str(folder), status.st_mode
    if stat.S_ISLNK(mode):
        raise UsageProblem(
            "a symbolic link is not safe as a home", place=place, hint="name the folder that the link points to"
        )
    if not stat.S_ISDIR(mode):
        raise UsageProblem("this is not a folder", place=place, hint=use_another)
    if status.st_uid != os.geteuid():
        raise UsageProblem("this folder belongs to another user", place=place, hint=use_another)
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageProblem("other users can write in this folder", place=place, hint=f"chmod go-w {folder}")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise UsageProblem(
            "you have no permission to read or enter this folder", place=place, hint=f"chmod u+rx {folder}"
        )
    if write and not os.access(folder, os.W_OK | os.X_OK):
        raise UsageProblem("you may not write in this folder", place=place, hint=use_another)


def prepare_file(path: Path, use_another: str = USE_ANOTHER) -> None:
    """Make an empty file if it is missing, and make the file private.

    Raises `JournalUnreadable` if the path is not a file or cannot be made private. Raises `UsageProblem` or
    `StorageFull` if the file cannot be made.

    An existing file is never opened, because closing the file would release this process's SQLite locks on it. Without
    these locks, another process could delete the write-ahead log.
    """
    try:
        if not os.path.lexists(path):
            _make_file(path)
        status = path.lstat()
    except OSError as error:
        raise explain(error, path, use_another) from error
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        raise JournalUnreadable(
            str(path), "a symbolic link is not safe as a journal", "replace the link by the file itself"
        )
    if not stat.S_ISREG(mode):
        raise JournalUnreadable(str(path), "this is not a file", "move it away")
    if status.st_uid != os.geteuid():
        raise JournalUnreadable(str(path), "the file belongs to another user", access_hint(use_another))
    if stat.S_IMODE(mode) != FILE_MODE:
        try:
            path.chmod(FILE_MODE)
        except OSError as error:
            cause = f"the file cannot be made private: {os.strerror(error.errno or 0).lower()}"
            raise JournalUnreadable(str(path), cause, access_hint(use_another)) from error


def is_there(path: Path, use_another: str = USE_ANOTHER) -> bool:
    """Return whether a path exists. Raises `UsageProblem` if this user has no access to one of its parent folders."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise explain(error, path, use_another) from error
    return True


def check_in_place(path: Path) -> Callable[[], None]:
    """Return a function that raises `JournalMoved` if the path no longer leads to the file to which it leads now.

    SQLite continues writing to a renamed or removed file, and reports success. A call takes microseconds.
    """
    status = path.stat()

    def check() -> None:
        try:
            current = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise JournalMoved(str(path)) from None
        if not os.path.samestat(status, current):
            raise JournalMoved(str(path))

    return check


def replace_file(path: Path, data: bytes) -> None:
    """Replace the content of a private file, so that every reader finds either all old bytes or all new bytes.

    Raises `OSError`.
    """
    import tempfile  # noqa: PLC0415 -- it loads every compression that Python has

    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _make_file(path: Path) -> None:
    # The file is made under another name and then linked, so its handle is closed before anyone can lock it.
    import tempfile  # noqa: PLC0415 -- it loads every compression that Python has

    handle, temporary = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        os.close(handle)
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        Path(temporary).unlink()
    _sync(path.parent)


def _sync(folder: Path) -> None:
    # A new name survives a loss of power only after its folder was synced.
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def explain(error: OSError, path: Path, use_another: str = USE_ANOTHER) -> ReplanError:
    """Translate an error of the operating system into an error of the runtime."""
    if error.errno in FULL:
        return StorageFull(str(path))
    if error.errno is None:
        return JournalError(f"{path}: {error}")
    return UsageProblem(os.strerror(error.errno).lower(), place=str(path), hint=use_another)


def _make(folder: Path) -> None:
    if not folder.parent.exists():
        _make(folder.parent)  # The parent is private too, because users who may write in it could replace the folder.
    try:
        folder.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        return
    folder.chmod(FOLDER_MODE)
    _sync(folder.parent)
