"""The workspace: the folder in which the tools of an execution work. This module checks, opens and locks it."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import orjson
import trio

from runtime.core.errors import UsageProblem
from runtime.core.names import describe
from runtime.journal.folder import explain, prepare_folder
from runtime.process.identity import identity


class Holder(NamedTuple):
    """The run and the driver that hold a lock, read from the lock's file."""

    run: str
    """The id of the run; empty if the lock's file does not name it."""
    owner: str
    """The driver that has the lock, in the form of `runtime.process.identity`; empty if the lock's file does not name
    it.
    """


class WorkspaceLock:
    """The lock of a folder. The lock is held after a successful `take`, until `release`."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self._path = home / "workspaces" / f"{key_of(folder)}.lock"
        self._handle = -1

    @property
    def inherited(self) -> tuple[int, ...]:
        """The open file that processes of tools inherit; empty while the lock is not held."""
        return (self._handle,) if self._handle >= 0 else ()

    def take(self, run: str) -> Holder | None:
        """Acquire the lock for a run without waiting.

        Return the other holder of the lock; None if the lock was acquired. Raises `UsageProblem` if the home cannot be
        written.
        """
        if self._handle >= 0:
            return None
        handle = self._open()
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read_holder(handle)
            os.close(handle)
            return holder
        os.ftruncate(handle, 0)
        os.pwrite(handle, orjson.dumps({"run": run, "owner": identity(), "folder": str(self.folder)}), 0)
        self._handle = handle
        return None

    def release(self) -> None:
        """Close the lock's file. The workspace is free after the tools that inherited the file have ended."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _open(self) -> int:
        prepare_folder(self._path.parent)
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise explain(error, self._path) from error


def key_of(folder: Path) -> str:
    """Return the name under which the home keeps the data of a workspace. The name is made from the folder's path."""
    return sha256(os.fsencode(folder)).hexdigest()[:32]


def in_use_problem(folder: Path, holder: Holder) -> UsageProblem:
    """Return the error for a workspace in which another run works."""
    run = f"run {holder.run!r}" if holder.run else "another run"
    driver = f", driven by {describe(holder.owner)}" if holder.owner else ""
    hint = f"wait until it ends, or `replan cancel {holder.run}`" if holder.run else "wait until it ends"
    return UsageProblem(f"{run} works in this workspace{driver}", place=str(folder), hint=hint)


def ensure_free(folder: Path, home: Path) -> None:
    """Raise `UsageProblem` if a run works in a folder now.

    To find out, the folder's lock is acquired and released at once.
    """
    lock = WorkspaceLock(folder, home)
    try:
        if holder := lock.take(""):
            raise in_use_problem(folder, holder)
    finally:
        lock.release()


def _read_holder(handle: int) -> Holder:
    with suppress(orjson.JSONDecodeError, AttributeError):
        value = orjson.loads(os.pread(handle, 16_384, 0))
        return Holder(str(value.get("run", "")), str(value.get("owner", "")))
    return Holder("", "")


LOCK_SECONDS = 15.0
"""The longest time, in seconds, for which a call waits until processes of an earlier driver release the workspace.
After this time, the call fails, and the failure counts as transient.
"""
_LOOK_SECONDS = 0.1

_USE_ANOTHER = "name another folder with --workspace"


@dataclass(frozen=True, slots=True)
class Workspace:
    """An open folder in which the tools of a run work."""

    folder: Path
    """The absolute path of the folder, without symbolic links."""
    home: Path
    run: str
    handle: int
    """The descriptor of the open folder. Built-in tools open paths relative to this descriptor."""
    lock: WorkspaceLock
    """The lock of the folder. The lock is not held as long as processes of an earlier driver of this run still work in
    the folder.
    """
    writing: trio.Lock = field(default_factory=trio.Lock)
    """A lock that is held while a built-in tool works."""

    def was_moved(self) -> bool:
        """Return whether the folder's path no longer leads to the folder that was opened."""
        try:
            return not os.path.samestat(os.lstat(self.folder), os.fstat(self.handle))
        except OSError:
            return True

    async def take_lock(self) -> bool:
        """Acquire the lock if it is not held. Return whether the lock is held afterwards.

        The call waits at most `LOCK_SECONDS` for processes that an earlier driver has left.
        """
        with trio.move_on_after(LOCK_SECONDS):
            while self.lock.take(self.run) is not None:  # noqa: ASYNC110 - the system tells nobody
                await trio.sleep(_LOOK_SECONDS)
        return bool(self.lock.inherited)


def check_workspace(path: str | Path, home: Path) -> Path:
    """Return the absolute path of a folder that may be a workspace, without symbolic links.

    Raises:
        UsageProblem: the folder is missing, a symbolic link, not a folder, or not writable; or it is in the home, or
            contains the home.
    """
    source = str(path)
    try:
        named = Path(path).expanduser().absolute()
        mode = named.lstat().st_mode
        folder = named.resolve(strict=True)
    except FileNotFoundError:
        raise UsageProblem("no such folder", place=source, hint="make the folder, or name another folder") from None
    except (OSError, ValueError, RuntimeError) as error:
        cause = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageProblem(f"cannot be a workspace: {cause}", place=source, hint=_USE_ANOTHER) from None
    if stat.S_ISLNK(mode):
        raise UsageProblem("a symbolic link is not safe as a workspace", place=source, hint=f"name {folder}")
    if not stat.S_ISDIR(mode):
        raise UsageProblem("this is not a folder", place=source, hint=_USE_ANOTHER)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise UsageProblem("this folder cannot be written", place=source, hint=_USE_ANOTHER)
    home = home.resolve()
    if folder.is_relative_to(home):
        raise UsageProblem("this folder is in Replan's home", place=source, hint=_USE_ANOTHER)
    if home.is_relative_to(folder):
        raise UsageProblem("this folder contains Replan's home, where runs are kept", place=source, hint=_USE_ANOTHER)
    return folder


@contextmanager
def open_workspace(path: str | Path, home: Path, run: str) -> Iterator[Workspace]:
    """Check a folder, lock it for a run, and yield it as the run's workspace.

    A killed driver of this run may have left processes that hold the lock. In this case, the workspace is yielded
    without the lock. `take_lock` acquires it after these processes have ended. Raises `UsageProblem` if the folder
    cannot be a workspace or another run works in it.
    """
    folder = check_workspace(path, home)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    lock = WorkspaceLock(folder, home)
    try:
        holder = lock.take(run)
        if holder is not None and holder.run != run:
            raise in_use_problem(folder, holder)
        yield Workspace(folder, home, run, handle, lock)
    finally:
        lock.release()
        os.close(handle)
