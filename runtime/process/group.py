"""Runs a command in its own process group.

The group's name is recorded before the command begins, and the command's output is limited.

`start_gated` starts a gate: a small process that waits for a byte from a pipe and then becomes the command (`exec`). So
the process has the same name before and after. If this process is killed before it writes the byte, the pipe closes and
the gate exits, so the command never runs. A later process that reads the recorded name can check whether the group
still runs, and end the group (`end_group`).
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from runtime.core.names import parts_of
from runtime.process.identity import end_of_group, hide_process, name_of

OUTPUT_BYTES_MAX = 1024 * 1024
"""The largest number of bytes of a command's output that are kept by default. Further bytes are read and counted, but
not kept."""
GRACE_SECONDS = 5.0
"""The time, in seconds, that a process group has to end after SIGTERM. After this time, the group gets SIGKILL."""
KILLED_SECONDS = 10.0
"""The longest wait for processes to end after SIGKILL, in seconds. Thousands of processes take several seconds."""
LOOK_SECONDS = 0.02
"""The time, in seconds, between two checks whether a process group that must end has ended."""

_GATE = Path(__file__).with_name("gate.py")


@dataclass(frozen=True, slots=True)
class CommandExit:
    """How a command ended."""

    code: int
    """The exit code. If a signal ended the command, this is the negative number of the signal."""
    output: bytes
    """The beginning of stdout and stderr, in the order of writing, up to the limit that `start_gated` got."""
    dropped: int = 0
    """The number of bytes of output after that beginning."""


class CommandNotStarted(OSError):
    """The program could not be executed, for example because it is missing or this user has no permission."""


class GatedProcess:
    """A command that waits until `begin` or `run` is called.

    `name` is the name of its process, which leads its group (`runtime.process.identity.name_of`).
    """

    def __init__(self, process: trio.Process, gate: int, report: int, output_bytes_max: int = OUTPUT_BYTES_MAX) -> None:
        self._process, self._gate, self._report = process, gate, report
        self._output_bytes_max = output_bytes_max
        self.name = name_of(process.pid)

    def begin(self) -> trio.Process:
        """Let the command begin, and return its process. Call `end` afterwards.

        Call this method only for a command that was started with `talks`.
        """
        os.write(self._gate, b"\0")
        os.close(self._gate)
        self._gate = -1
        return self._process

    async def run(self) -> CommandExit:
        """Let the command begin, wait until its whole group has ended, and return how it ended.

        Cancellation ends the group by SIGTERM, and by SIGKILL after `GRACE_SECONDS`. Processes of the group that
        outlive the command are ended too. Raises `CommandNotStarted`.
        """
        self.begin()
        try:
            output, dropped = await self._read()
            code = await self._process.wait()
        finally:
            await self.end()
        self.check_started()
        return CommandExit(code, output, dropped)

    async def end(self) -> None:
        """End the group, even if the command has not begun. Return when no process of the group runs any more."""
        with trio.CancelScope(shield=True):
            if self._gate >= 0:
                os.close(self._gate)
                self._gate = -1
            await end_group(self.name)
            await self._process.wait()
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
                if stream is not None:
                    await stream.aclose()

    async def _read(self) -> tuple[bytes, int]:
        assert self._process.stdout is not None
        output, dropped = bytearray(), 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._close_after_exit, nursery.cancel_scope)
            async for chunk in self._process.stdout:
                room = self._output_bytes_max - len(output)
                output += chunk[:room]
                dropped += len(chunk) - len(chunk[:room])
            nursery.cancel_scope.cancel()
        return bytes(output), dropped

    async def _close_after_exit(self, reading: trio.CancelScope) -> None:
        """Stop reading soon after the command has ended, because a process that it left may keep the pipe open."""
        await self._process.wait()
        await trio.sleep(LOOK_SECONDS * 5)
        reading.cancel()

    def check_started(self) -> None:
        """Raise `CommandNotStarted` if the command has ended because it could not be executed."""
        number = os.read(self._report, 16)
        if number:
            code = int(number)
            raise CommandNotStarted(code, os.strerror(code))


@asynccontextmanager
async def start_gated(
    arguments: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    inherited: Sequence[int] = (),
    output_bytes_max: int = OUTPUT_BYTES_MAX,
    talks: bool = False,
) -> AsyncIterator[GatedProcess]:
    """Start the gate of a command and yield it. Leaving the block ends every process of its group.

    `arguments` are the program and its arguments, which no shell reads. `folder` is the program's working directory,
    and `environment` is its whole environment. The program's stdin is empty, and its stderr is sent to its stdout. The
    program inherits the open files in `inherited`, by number. With `talks`, stdin, stdout and stderr are pipes instead,
    and the process that `begin` returns gives access to them. Before the first command, this process makes its memory
    and environment unreadable to commands (`hide_process`).
    """
    hide_process()
    gate_read, gate_write = os.pipe()
    report_read, report_write = os.pipe()
    os.set_blocking(report_read, False)
    gated: GatedProcess | None = None
    added = "" if "LC_CTYPE" in environment else "LC_CTYPE"  # Python sets it in the C locale (PEP 538).
    try:
        start = partial(
            trio.lowlevel.open_process,
            [sys.executable, "-I", "-S", str(_GATE), str(gate_read), str(report_write), added, *arguments],
            stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if talks else subprocess.STDOUT,
            start_new_session=True,
            cwd=folder,
            env=dict(environment),
            pass_fds=(gate_read, report_write, *inherited),
        )
        try:
            process = await start()
        finally:
            os.close(gate_read)
            os.close(report_write)
        gated = GatedProcess(process, gate_write, report_read, output_bytes_max)
        yield gated
    finally:
        if gated is None:
            os.close(gate_write)
        else:
            await gated.end()
        os.close(report_read)


async def end_group(name: str) -> bool:
    """End the process group whose leader has this name. Return whether the group is certainly gone.

    This process cannot see a group of another machine, container or boot, and returns False for it. Sends SIGTERM, then
    SIGKILL after `GRACE_SECONDS`, and waits for at most `KILLED_SECONDS`.
    """
    parts = parts_of(name)
    if parts is None:
        return False
    is_gone = end_of_group(name)
    if is_gone is not False:
        return is_gone is True
    pid = int(parts[2])
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, KILLED_SECONDS)):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
        with trio.move_on_after(seconds):
            while end_of_group(name) is False:  # noqa: ASYNC110 - the system tells nobody
                await trio.sleep(LOOK_SECONDS)
        if end_of_group(name) is True:
            return True
    return False


CHUNK_BYTES = 64 * 1024


class StreamLines:
    """The lines of a stream as an async iterator, without line ends. Bytes that are not UTF-8 are replaced.

    The iterator ends with the stream, or when a line or the sum of lines is too long. If something is too long,
    `too_long` is set.
    """

    def __init__(self, stream: trio.abc.ReceiveStream, *, line_bytes_max: int, bytes_max: int | None = None) -> None:
        self._stream, self._line_bytes_max, self._bytes_max = stream, line_bytes_max, bytes_max
        self._rest, self._count = bytearray(), 0
        self.too_long = False
        """Whether there is more than the limits allow."""

    def __aiter__(self) -> "StreamLines":
        return self

    async def __anext__(self) -> str:
        begin = 0
        while not self.too_long:
            end = self._rest.find(b"\n", begin)
            if end >= 0:
                line = bytes(self._rest[:end])
                del self._rest[: end + 1]
                return line.decode("utf-8", "replace")
            begin = len(self._rest)
            data = await self._stream.receive_some(CHUNK_BYTES)
            if not data:
                break
            self._rest += data
            self._count += len(data)
            many = self._bytes_max is not None and self._count > self._bytes_max
            self.too_long = many or (len(self._rest) > self._line_bytes_max and b"\n" not in self._rest)
        raise StopAsyncIteration
