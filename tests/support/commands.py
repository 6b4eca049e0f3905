"""Commands as processes of their own, forked from a server that has imported the program: a start takes 10 ms.

`Commands.start` gives what `subprocess.Popen` would. `Commands.folder` has the programs `replan` and `python` for
shells. What is tested of Python's own start and end needs a process that was started by Python.

An order to the server is a JSON object with `argv`, `cwd`, `env`, `terminal` (the command gets stdin as its terminal),
the `module` to run and `faults` (`tests.support.faults`); the three standard streams go with it.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

ROOT = Path(__file__).resolve().parents[2]
LINE = "line"
"""The server's socket in its folder."""
PRODUCT = "replan"
"""What `python -m` runs by default."""
PROGRAM = "replan.cli:main"
"""What the command `replan` runs: hints name it so."""

SCRIPT = """#!{python} -ISs
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({path!r})
    order = {{"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "module": {module!r}}}
    order = json.dumps(order).encode()
    socket.send_fds(line, [len(order).to_bytes(4, "big")], [0, 1, 2])
    line.sendall(order)
    answers = line.makefile()
    child = int(answers.readline())
    with open(f"{{sys.argv[0]}}.{{os.getpid()}}", "w") as note:
        note.write(str(child))
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    code = int([line for line in answers if line != "stopped\\n"][0])
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if code != -signal.SIGKILL else None
    os.kill(os.getpid(), -code)
sys.exit(code)
"""
"""Hands over its arguments, folder, environment and streams, passes signals on, and ends as the command does: with its
exit code, or by the same signal. Where it is killed itself, the command is killed a moment later."""


class Command:
    """A started command: its process id, the test's ends of its pipes, and its end. It is killed with the test."""

    def __init__(self, line: socket.socket, streams: "list[IO[bytes] | None]") -> None:
        self._line, self._told = line, b""
        self.stdin, self.stdout, self.stderr = streams
        self.returncode: int | None = None
        self.pid = int(self._next(None) or 0)

    def _next(self, timeout: float | None) -> str | None:
        """Return what the server tells next; None if that takes longer than so many seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._told:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not select.select([self._line], [], [], left)[0]:
                return None
            data = self._line.recv(64)
            assert data, "the server of commands has ended"
            self._told += data
        told, _, self._told = self._told.partition(b"\n")
        return told.decode()

    def _end(self, code: str) -> int:
        self.returncode = int(code)
        self._line.close()
        return self.returncode

    def rest(self) -> int | None:
        """Wait until it has been stopped (None), or has ended (its exit code, or minus the signal that killed it)."""
        if self.returncode is None:
            told = self._next(None)
            return None if told in (None, "stopped") else self._end(told)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code, or the negative number of the signal that killed it."""
        until = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            told = self._next(None if until is None else max(0.0, until - time.monotonic()))
            if told is None:
                raise subprocess.TimeoutExpired("replan", timeout or 0.0)
            if told != "stopped":
                self._end(told)
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, text: bytes = b"", timeout: float | None = None) -> tuple[bytes | None, bytes | None]:
        """Send input, and return the output and the errors up to the end."""
        read: dict[str, bytes] = {}
        streams = {name: stream for name in ("stdout", "stderr") if (stream := getattr(self, name))}
        readers = [
            threading.Thread(target=lambda name=name, stream=stream: read.update({name: stream.read()}))
            for name, stream in streams.items()
        ]
        for reader in readers:
            reader.start()
        if self.stdin:
            with suppress(BrokenPipeError), self.stdin:
                self.stdin.write(text)
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            for reader in readers:
                reader.join()
            for stream in streams.values():
                stream.close()
        return read.get("stdout"), read.get("stderr")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream:
                with suppress(BrokenPipeError):
                    stream.close()
        self.wait()


class Commands:
    """The server, as a test sees it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """Has the programs."""

    def start(
        self,
        *arguments: object,
        cwd: Path | str = ROOT,
        env: Mapping[str, str] | None = None,
        stdin: Any = subprocess.PIPE,
        stdout: Any = subprocess.PIPE,
        stderr: Any = subprocess.PIPE,
        terminal: bool = False,
        module: str = PRODUCT,
        **faults: Any,
    ) -> Command:
        """Start `python -m MODULE` with arguments; a stream is a file, its number, PIPE or DEVNULL."""
        theirs: list[int] = []
        ours: list[IO[bytes] | None] = []
        opened: list[int] = []
        for number, given in enumerate((stdin, stdout, stderr)):
            if given == subprocess.PIPE:
                reader, writer = os.pipe()
                opened.append(writer if number else reader)
                ours.append(os.fdopen(reader, "rb") if number else os.fdopen(writer, "wb", 0))
            elif given == subprocess.DEVNULL:
                opened.append(os.open(os.devnull, os.O_RDWR))
            elif isinstance(given, Path):
                opened.append(os.open(given, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
            theirs.append(opened[-1] if _is_opened(given) else given if isinstance(given, int) else given.fileno())
            ours += [None] * (len(theirs) - len(ours))
        order = {
            "argv": [str(word) for word in arguments],
            "cwd": str(cwd),
            "env": dict(os.environ if env is None else env),
            "terminal": terminal,
            "module": module,
            "faults": faults,
        }
        line = socket.socket(socket.AF_UNIX)
        line.connect(str(self.folder / LINE))
        text = json.dumps(order).encode()
        socket.send_fds(line, [len(text).to_bytes(4, "big")], theirs)
        line.sendall(text)
        for descriptor in opened:
            os.close(descriptor)
        return Command(line, ours)

    def kill(self, pid: int) -> None:
        """Kill what a running program of the folder has started, by the program's process id; it ends afterwards."""
        (note,) = self.folder.glob(f"*.{pid}")
        os.kill(int(note.read_text()), signal.SIGKILL)


def _is_opened(given: Any) -> bool:
    return given in (subprocess.PIPE, subprocess.DEVNULL) or isinstance(given, Path)


def joined(folder: Path, seconds: float = 120.0) -> Commands:
    """Return the commands of a server that another process has started, once it listens."""
    until = time.monotonic() + seconds
    while True:
        with socket.socket(socket.AF_UNIX) as line:
            try:
                line.connect(str(folder / LINE))
            except OSError:
                assert time.monotonic() < until, "the server of commands does not start"
                time.sleep(0.05)
            else:
                return Commands(folder)


@contextmanager
def open_commands(*, wait: bool = True) -> Iterator[Commands]:
    """Start the server for the length of a `with` block, and wait until it listens."""
    # The name of a socket has a limit, so the folder has a short path.
    with tempfile.TemporaryDirectory(prefix="rp") as name:
        folder = Path(name)
        for program, module in (("replan", PROGRAM), ("python", "")):
            text = SCRIPT.format(python=sys.executable, path=str(folder / LINE), module=module)
            (folder / program).write_text(text)
            (folder / program).chmod(0o700)
        command = [sys.executable, "-m", "tests.support.command_server", str(folder / LINE)]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert not wait or process.stdout.readline() == "ready\n"
                yield Commands(folder)
            finally:
                process.terminate()
