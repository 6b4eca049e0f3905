"""`python -m replan` as a process of its own, forked from a server that has imported the program: a start takes 10 ms.

The process has its own arguments, variables, folder, standard streams and exit code. `Server.start` gives what
`subprocess.Popen` would. What is tested of Python's own start and end needs a process that was started by Python.
"""

import atexit
import fcntl
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from contextlib import contextmanager, suppress

from tests.support.fork_server import ROOT, preload

MESSAGE_BYTES = 1 << 20


class Command:
    """A started command: its process id, the test's ends of its pipes, and its end."""

    def __init__(self, status, pipes):
        self._status = os.fdopen(status, "rb")
        self.stdin, self.stdout, self.stderr = pipes
        self.pid = int(self._status.readline())
        self.returncode = None
        self._waiting = threading.Thread(target=self._read_the_end)
        self._waiting.start()

    def _read_the_end(self):
        self.returncode = int(self._status.readline())
        self._status.close()

    def poll(self):
        return self.returncode

    def wait(self, timeout=None):
        """Wait for the end, and return the exit code, or the negative number of the signal that killed it."""
        self._waiting.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("replan", timeout)
        return self.returncode

    def send_signal(self, number):
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, text=b"", timeout=None):
        """Send input, and return the output and the errors up to the end."""
        read, readers = {}, []
        for name in ("stdout", "stderr"):
            if stream := getattr(self, name):
                readers.append(threading.Thread(target=lambda n=name, s=stream: read.update({n: s.read()})))
                readers[-1].start()
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
            for stream in (self.stdout, self.stderr):
                if stream:
                    stream.close()
        return read.get("stdout"), read.get("stderr")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream:
                with suppress(BrokenPipeError):
                    stream.close()
        self.wait()


class Server:
    """The server, as a test sees it."""

    def __init__(self, connection):
        self._connection = connection

    def start(self, *arguments, cwd=ROOT, env=None, stdin=subprocess.PIPE, stdout=None, stderr=None, terminal=False):
        """Start `python -m replan` with arguments; a stream is a file, its number, or PIPE (also where none is named).

        `terminal` makes the command's stdin the terminal that it belongs to.
        """
        theirs, ours, pipes = [], [], []
        for number, given in enumerate((stdin, stdout, stderr)):
            if given not in (None, subprocess.PIPE):
                theirs.append(given if isinstance(given, int) else given.fileno())
                ours.append(None)
                continue
            reader, writer = os.pipe()
            pipes.append(writer if number else reader)
            theirs.append(pipes[-1])
            ours.append(os.fdopen(reader, "rb") if number else os.fdopen(writer, "wb", 0))
        status, told = os.pipe()
        request = {
            "argv": [str(word) for word in arguments],
            "cwd": str(cwd),
            "env": dict(os.environ if env is None else env),
            "terminal": terminal,
        }
        socket.send_fds(self._connection, [json.dumps(request).encode()], [*theirs, told])
        for descriptor in (*pipes, told):
            os.close(descriptor)
        return Command(status, ours)


@contextmanager
def open_server():
    """Start the server for the length of a `with` block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        command = [sys.executable, "-m", "tests.support.forked_command", str(theirs.fileno())]
        with subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL) as process:
            theirs.close()
            yield Server(ours)
            ours.close()
            process.wait()


def _serve(connection):
    """Answer requests until the tests close the connection. Returns in each child, with its request."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MESSAGE_BYTES)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # The parents of the commands are buried by the kernel.
    while True:
        text, descriptors, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 4)
        if not text:
            os._exit(0)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection.close()
            *streams, status = descriptors
            child = os.fork()
            if child == 0:
                os.close(status)
                return json.loads(text), streams
            for descriptor in streams:
                os.close(descriptor)
            with os.fdopen(status, "w") as told:
                print(child, file=told, flush=True)
                print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=told, flush=True)
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _become(request, streams):
    """Give this process what `python -m replan` would have."""
    if request["terminal"]:
        os.setsid()
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in {*streams} - {0, 1, 2}:
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        stream = open(  # noqa: SIM115 - for as long as the process
            number,
            mode,
            encoding=encoding,
            errors=errors or ("backslashreplace" if name == "stderr" else "strict"),
            newline="\n" if number else None,
            closefd=False,
        )
        if number:
            stream.reconfigure(line_buffering=name == "stderr" or stream.isatty())
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv[1:] = request["argv"]


if __name__ == "__main__":
    preload()
    _become(*_serve(socket.socket(fileno=int(sys.argv[1]))))
    try:
        runpy.run_module("replan", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        # As Python ends, but for the objects: to free those of the server one by one takes half a second.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))
