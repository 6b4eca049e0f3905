"""Wake-ups of hosts.

This module defines the port, its adapter with one Unix socket per host, and the port of engines that place runs on
workers.

A wake-up only says that the journal may have changed. So a lost wake-up delays a host by one polling interval, and a
forged wake-up does no harm.

The sockets are in the folder `hosts/` of the home (0700), and have the mode 0600. The sockets receive datagrams, whose
content is ignored. If nobody listens on a socket, its process was killed, and the next process that finds the socket
removes it.
"""

import os
import secrets
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import trio

from runtime.core.errors import UsageProblem
from runtime.journal.folder import FILE_MODE, prepare_folder
from runtime.journal.port import Dead, Formats

PATH_BYTES_MAX = 100
"""The largest number of bytes in a socket's path. It is a little below the system's limit. `_short` explains what is
done with longer paths."""


class WakeUp(Protocol):
    """The port by which a process that has written to a journal wakes the hosts of that journal."""

    def wake(self) -> None:
        """Wake every host. Never blocks, and never fails: hosts also poll."""

    async def listen(
        self, callback: Callable[[], object], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Call `callback` at every wake-up until this task is cancelled. Start this method with `nursery.start`.

        Raises `UsageProblem`, before the task has started, if this process cannot be woken.
        """


class NoWakeUp:
    """Wakes no host, so that hosts notice new records only by polling."""

    def wake(self) -> None:
        """Do nothing."""

    async def listen(
        self,
        callback: Callable[[], object],  # noqa: ARG002 - never called
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Wait until this task is cancelled."""
        task_status.started()
        await trio.sleep_forever()


@dataclass(frozen=True, slots=True)
class WakeSockets:
    """The wake-up sockets of one home's hosts, in `folder`."""

    folder: Path

    def wake(self) -> None:
        """Wake every host of the home. Never blocks, and never fails."""
        for path in self._sockets():
            _send(path)

    async def listen(
        self, callback: Callable[[], object], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Open this host's wake-up socket, and call `callback` at every datagram until this task is cancelled.

        Raises `UsageProblem`, before the task has started, if the socket cannot be created.
        """
        prepare_folder(self.folder)
        path = self.folder / f"{os.getpid()}-{secrets.token_hex(4)}.sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as raw:
            try:
                with _short(path) as name:
                    raw.bind(name)
                path.chmod(FILE_MODE)
            except OSError as error:
                hint = "use a home with a shorter path" if len(os.fsencode(path)) > PATH_BYTES_MAX else ""
                raise UsageProblem(f"the socket cannot be created: {error}", place=str(path), hint=hint) from None
            try:
                receiver = trio.socket.from_stdlib_socket(raw)
                task_status.started()
                while True:
                    await receiver.recv(1)
                    callback()
            finally:
                path.unlink(missing_ok=True)

    def _sockets(self) -> list[Path]:
        try:
            if self.folder.stat().st_uid != os.geteuid():
                return []  # The folder is another user's, so this process must not write or remove anything in it.
            return sorted(path for path in self.folder.iterdir() if path.suffix == ".sock")
        except OSError:
            return []


def _send(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        try:
            with _short(path) as name:
                sender.connect(name)
                sender.send(b"\0")
        except ConnectionRefusedError:
            with suppress(OSError):
                path.unlink()
        except OSError:
            return  # Among others where its buffer is full: then the host has been woken already.


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """Yield a path to the socket that is short enough for the operating system."""
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@dataclass(frozen=True, slots=True)
class Job:
    """A hint that a run may need a driver."""

    id: int
    run: str


class Dispatcher(Protocol):
    """An engine that places runs on workers, as seen by one worker.

    All methods raise `JournalError` if the engine cannot be used.

    A job is a hint that a run may need a driver; the journal is the source of truth. A worker that gets a job tries to
    claim the run, and drives the run only if the claim succeeds. So lost, repeated and late jobs do no harm. `sweep`
    finds due runs that have no job.
    """

    async def fetch(self) -> Job | None:
        """Return the next job, which no other worker gets; None if no job waits.

        Jobs of runs with a higher priority come first. Among equal priorities, the tenant with the fewest running runs
        on all workers comes first. Within a tenant, the oldest job comes first.
        """

    async def finish(self, job: Job) -> None:
        """Delete a job, because its run has been claimed or needs no driver."""

    async def sweep(self, limit: int, *, dead: Dead, kinds: Formats | None, skip: Collection[str]) -> int:
        """Make jobs for at most `limit` due runs without a job, and return the number of new jobs.

        `dead` and `kinds` are as for `Journal.due`. The runs in `skip` get no job.
        """

    async def beat(self) -> None:
        """Tell the engine that this worker still runs, and delete the entries of dead workers. Call it every 10 s."""
