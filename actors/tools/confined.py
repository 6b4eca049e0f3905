"""Access to files below an open folder. No symbolic link in a path is followed, so no path leads out of the folder."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

from actors.tools.parameters import path_problem

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OutOfBounds(Exception):
    """A path leads out of the folder, or is not a regular file. The exception's message is the cause, in one line."""


class TooLarge(Exception):
    """A file has more bytes than are allowed. The exception's message is the cause, in one line."""


def check_inside(folder: int, path: str) -> bool:
    """Return whether a path below an open folder exists. Raises `OutOfBounds` if a part of it is a symbolic link.

    The file may change after this check and before a program opens the path.
    """
    try:
        with _parent_of(folder, path) as (parent, name):
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(mode):
        raise OutOfBounds(f"{path!r} is a symbolic link")
    return True


def read_inside(folder: int, path: str, bytes_max: int) -> bytes | None:
    """Return the content of a file below an open folder; None if the file does not exist.

    Raises `OutOfBounds` if the file is not regular. Raises `TooLarge`, `OSError`.
    """
    try:
        with _parent_of(folder, path) as (parent, name):
            handle = _open_below(name, parent, path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OutOfBounds(f"{path!r} is not a regular file")
    with os.fdopen(handle, "rb") as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise TooLarge(f"{path!r} has more bytes than the limit of {bytes_max:,}")
    return data


def write_inside(
    folder: int, path: str, content: bytes, *, executable: bool | None = None, replaces_link: bool = False
) -> None:
    """Replace a whole file below an open folder, or create it with the folders above it.

    The file's mode is kept. If `executable` is not None, it says whether the file may be executed. After a crash, the
    file has the old or the new content. Raises `OutOfBounds` if the path is not a regular file. Raises `OSError`. A
    symbolic link is replaced only with `replaces_link`.
    """
    with _parent_of(folder, path, make=True) as (parent, name):
        mode = None
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                mode = status.st_mode & 0o777
            elif not (replaces_link and stat.S_ISLNK(status.st_mode)):
                raise OutOfBounds(f"{path!r} is not a regular file")
        temporary = f".replan-{sha256(name.encode()).hexdigest()[:16]}.tmp"
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)  # A killed process may have left it.
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                if mode is not None:
                    os.fchmod(handle, mode)
                if executable is not None:
                    mode = os.fstat(handle).st_mode & 0o777
                    os.fchmod(handle, mode | (mode & 0o444) >> 2 if executable else mode & ~0o111)
                os.fsync(handle)
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise
        os.fsync(parent)


def link_inside(folder: int, path: str, target: bytes) -> None:
    """Replace a file or link below an open folder by a symbolic link. Raises `OutOfBounds`, `OSError`."""
    with _parent_of(folder, path, make=True) as (parent, name):
        temporary = f".replan-{sha256(name.encode()).hexdigest()[:16]}.tmp"
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)
        os.symlink(target, temporary, dir_fd=parent)
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        os.fsync(parent)


def remove_inside(folder: int, path: str) -> None:
    """Remove a file or link below an open folder, and then the folders above it that have become empty.

    Raises `OutOfBounds`, `OSError`.
    """
    with _parent_of(folder, path) as (parent, name):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
        os.fsync(parent)
    above = path.rpartition("/")[0]
    while above:
        with _parent_of(folder, above) as (parent, name):
            try:
                os.rmdir(name, dir_fd=parent)
            except OSError:  # The folder is not empty.
                return
        above = above.rpartition("/")[0]


def files_inside(folder: int, path: str) -> set[str] | None:
    """Return the paths of all files below a folder within an open folder; None if there is no such folder.

    Symbolic links, devices and empty folders count as files. Raises `OutOfBounds`, `OSError`.
    """
    found: set[str] = set()
    with _parent_of(folder, path) as (parent, name):
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            return None
        for above, folders, files, handle in os.fwalk(name, dir_fd=parent):
            links = [item for item in folders if stat.S_ISLNK(os.lstat(item, dir_fd=handle).st_mode)]
            place = path + above[len(name) :]
            found |= {f"{place}/{file}" for file in (*files, *links)} or (set() if folders else {place + "/"})
    return found


def entry_inside(folder: int, path: str, bytes_max: int) -> tuple[str, bytes] | None:
    """Return the mode (in git's form) and the content of a file or link below an open folder; None if it is missing.

    Raises `OutOfBounds` for a folder, a device, or a path through a symbolic link. Raises `TooLarge`, `OSError`.
    """
    try:
        with _parent_of(folder, path) as (parent, name):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return "120000", os.fsencode(os.readlink(name, dir_fd=parent))
    except FileNotFoundError:
        return None
    data = read_inside(folder, path, bytes_max)
    return None if data is None else ("100755" if status.st_mode & stat.S_IXUSR else "100644", data)


@contextmanager
def _parent_of(folder: int, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder that contains a path.

    Yield this folder, and the last part of the path, which is `.` for the open folder itself.
    """
    if cause := path_problem(path):
        raise OutOfBounds(cause)
    *above, name = [part for part in path.split("/") if part not in ("", ".")] or ["."]
    parent = os.dup(folder)
    try:
        for part in above:
            try:
                below = _folder_in(parent, part, make=make)
            except NotADirectoryError:
                raise OutOfBounds(f"{path!r} leads through {part!r}, a file or a symbolic link") from None
            os.close(parent)
            parent = below
        yield parent, name
    finally:
        os.close(parent)


def _folder_in(parent: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
    return os.open(name, _FOLDER, dir_fd=parent)  # A symbolic link is no folder here: ENOTDIR.


def _open_below(name: str, parent: int, path: str) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except OSError as error:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            raise
        what = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise OutOfBounds(f"{path!r} is {what}") from error
