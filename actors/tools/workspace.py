"""The workspace: the one folder in which an execution's tools work, checked, held open and locked."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trio

from actors.tools.workspace_lock import WorkspaceLock, in_use
from runtime.core.errors import UsageProblem

LOCK_SECONDS = 15.0
"""How long a call waits for processes that an earlier driver of the run has left, before it fails for the moment."""
_LOOK_SECONDS = 0.1

_USE_ANOTHER = "name another folder with --workspace"


@dataclass(frozen=True, slots=True)
class Workspace:
    """An open workspace."""

    folder: Path
    """Its absolute path, without symbolic links."""
    home: Path
    """The home, which keeps the lock and what snapshots need."""
    run: str
    """The id of the run that works in it."""
    handle: int
    """The open folder: paths of built-in tools are opened below it."""
    lock: WorkspaceLock
    """Its lock; not taken while processes live that an earlier driver of this run has started."""
    writing: trio.Lock = field(default_factory=trio.Lock)
    """Held while a built-in tool writes."""

    def moved(self) -> bool:
        """Tell whether the folder at its path is another one than was opened."""
        try:
            return not os.path.samestat(os.lstat(self.folder), os.fstat(self.handle))
        except OSError:
            return True

    async def locked(self) -> bool:
        """Take the lock, unless it is taken; wait at most `LOCK_SECONDS` for what an earlier driver has left."""
        with trio.move_on_after(LOCK_SECONDS):
            while self.lock.take(self.run) is not None:  # noqa: ASYNC110 - the system tells nobody
                await trio.sleep(_LOOK_SECONDS)
        return bool(self.lock.inherited)


def check_workspace(path: str | Path, home: Path) -> Path:
    """Return the absolute path of a folder that may be a workspace, without symbolic links.

    Raises:
        UsageProblem: it is missing, no folder, a symbolic link, not writable, or is in the home or holds it.
    """
    source = str(path)
    try:
        named = Path(path).expanduser().absolute()
        mode = named.lstat().st_mode
        folder = named.resolve(strict=True)
    except FileNotFoundError:
        raise UsageProblem("no such folder", place=source, hint="make it, or name another one") from None
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
        raise UsageProblem("this folder holds Replan's home, where runs are kept", place=source, hint=_USE_ANOTHER)
    return folder


@contextmanager
def open_workspace(path: str | Path, home: Path, run: str) -> Iterator[Workspace]:
    """Check a folder, lock it for a run, and yield it as the run's workspace.

    It is yielded without the lock where processes of this run that a killed driver has left hold it; `locked` takes it
    once they have ended. Raises `UsageProblem` as `check_workspace`, and at once where another run works in it.
    """
    folder = check_workspace(path, home)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    lock = WorkspaceLock(folder, home)
    try:
        holder = lock.take(run)
        if holder is not None and holder.run != run:
            raise in_use(folder, holder)
        yield Workspace(folder, home, run, handle, lock)
    finally:
        lock.release()
        os.close(handle)
