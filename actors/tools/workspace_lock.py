"""The lock of a workspace: one execution works in a folder at a time, and its tools count as long as they live.

The lock is an open file in the home, named after the folder. Processes of tools inherit it, so after a driver was
killed the workspace is free only when they have ended too.
"""

import fcntl
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import orjson

from runtime.core.errors import UsageProblem
from runtime.core.owner import describe
from runtime.journal.folder import explain, prepare_folder
from runtime.process.identity import identity


class Holder(NamedTuple):
    """Who holds a lock, as the lock's file says."""

    run: str
    """The run's id; empty where the file does not say."""
    owner: str
    """The driver that took it, as `runtime.process.identity` names processes; empty where the file does not say."""


class WorkspaceLock:
    """The lock of one folder, taken or not."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self._path = home / "workspaces" / f"{key_of(folder)}.lock"
        self._handle = -1

    @property
    def inherited(self) -> tuple[int, ...]:
        """The open file that processes of tools inherit; none while the lock is not taken."""
        return (self._handle,) if self._handle >= 0 else ()

    def take(self, run: str) -> Holder | None:
        """Take the lock for a run at once; return who holds it where that fails, None where it is taken.

        Raises `UsageProblem` where the home cannot be written.
        """
        if self._handle >= 0:
            return None
        handle = self._open()
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(handle)
            os.close(handle)
            return holder
        os.ftruncate(handle, 0)
        os.pwrite(handle, orjson.dumps({"run": run, "owner": identity(), "folder": str(self.folder)}), 0)
        self._handle = handle
        return None

    def release(self) -> None:
        """Close the lock's file: the workspace is free once the tools that inherited it have ended."""
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
    """Return the name under which the home keeps what belongs to a workspace, made from the folder's path."""
    return sha256(os.fsencode(folder)).hexdigest()[:32]


def in_use(folder: Path, holder: Holder) -> UsageProblem:
    """Return the error about a workspace in which another run works."""
    run = f"run {holder.run!r}" if holder.run else "another run"
    driver = f", driven by {describe(holder.owner)}" if holder.owner else ""
    hint = f"wait for it, or replan cancel {holder.run}" if holder.run else "wait for it"
    return UsageProblem(f"{run} works in this workspace{driver}", place=str(folder), hint=hint)


def ensure_free(folder: Path, home: Path) -> None:
    """Raise `UsageProblem` where a run works in a folder now. The lock is not kept."""
    lock = WorkspaceLock(folder, home)
    try:
        if holder := lock.take(""):
            raise in_use(folder, holder)
    finally:
        lock.release()


def _read(handle: int) -> Holder:
    with suppress(orjson.JSONDecodeError, AttributeError):
        value = orjson.loads(os.pread(handle, 16_384, 0))
        return Holder(str(value.get("run", "")), str(value.get("owner", "")))
    return Holder("", "")
