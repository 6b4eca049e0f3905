"""The bells of a home's hosts: one Unix socket for each, so that whoever writes to the journal can wake them at once.

A socket takes datagrams and looks at none of them: being rung says only that the journal is worth a look, and what is
to be done stands there. So nothing that a stranger could send does any harm, and a lost ring costs one polling
interval. The sockets lie in `hosts/` in the home, 0700, and are 0600 themselves. A socket that nobody listens to any
more was left by a process that was killed; whoever finds it takes it away.
"""

import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import trio

from runtime.core.errors import UsageProblem
from runtime.journal.folder import FILE_MODE, prepare_folder

PATH_BYTES_MAX = 100
"""The longest path that the system takes as a socket's name, less a little; Linux has a way around it."""


@dataclass(frozen=True, slots=True)
class WakeSockets:
    """The bells of one home, `folder`; without a folder there are none."""

    folder: Path | None = None

    def ring(self) -> int:
        """Wake every host of the home; return how many there are. Never blocks, and never fails."""
        return sum(map(_ring, self._sockets()))

    def count(self) -> int:
        """Return how many hosts serve the home, without waking one. Never blocks, and never fails."""
        return sum(map(_is_open, self._sockets()))

    @asynccontextmanager
    async def hung(self, heard: Callable[[], object], nursery: trio.Nursery) -> AsyncIterator[None]:
        """Hang up a bell of one's own, and call `heard` whenever it is rung; a task for it runs in `nursery`.

        Raises `UsageProblem` where no socket can be made.
        """
        assert self.folder is not None
        prepare_folder(self.folder)
        path = self.folder / f"{os.getpid()}-{secrets.token_hex(4)}.sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as raw:
            try:
                with _short(path) as name:
                    raw.bind(name)
                path.chmod(FILE_MODE)
            except OSError as error:
                hint = "a shorter REPLAN_HOME may help" if len(os.fsencode(path)) > PATH_BYTES_MAX else ""
                raise UsageProblem(f"no socket can be made here: {error}", place=str(path), hint=hint) from None
            try:
                nursery.start_soon(_listen, trio.socket.from_stdlib_socket(raw), heard)
                yield
            finally:
                path.unlink(missing_ok=True)

    def _sockets(self) -> list[Path]:
        if self.folder is None:
            return []
        try:
            return sorted(path for path in self.folder.iterdir() if path.suffix == ".sock")
        except OSError:
            return []


async def _listen(bell: trio.socket.SocketType, heard: Callable[[], object]) -> None:
    with suppress(trio.ClosedResourceError):
        while True:
            await bell.recv(1)
            heard()


def _is_open(path: Path) -> bool:
    """Tell whether a process listens at a socket. One that nobody listens at is removed."""
    return _send(path, b"")


def _ring(path: Path) -> bool:
    return _send(path, b"\0")


def _send(path: Path, data: bytes) -> bool:
    """Connect to a socket, send data if there is any, and tell whether a process listens there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bell:
        bell.setblocking(False)
        try:
            with _short(path) as name:
                bell.connect(name)
                if data:
                    bell.send(data)
        except BlockingIOError:
            return True  # So many have rung already that the host is awake.
        except ConnectionRefusedError:
            with suppress(OSError):
                path.unlink()
            return False
        except OSError:
            return False
    return True


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """Yield a name for the socket that is short enough for the system."""
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
