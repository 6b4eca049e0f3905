"""The server of `tests.support.commands`: it imports the program once, and each of its children runs one command.

`python -m tests.support.command_server SOCKET` listens. It tells each client the process id of its command, then, in
lines of their own, that it has been `stopped`, as often as it is, and its exit code (negative: the signal that killed
it). A client that goes away takes its command with it.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import tempfile
import termios
import time
import traceback
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel

from tests.support.commands import PROGRAM, ROOT
from tests.support.faults import suffer

ORDER_MAX = 1024 * 1024
RUNS_AT_ONCE = "replan.__main__"
"""What is not imported beforehand, since it would run."""
PRELOADED = (
    "anyio._backends._trio",
    "encodings.idna",
    "encodings.utf_16_le",
    "encodings.utf_8_sig",
    "genai_prices.data",
    "h2.connection",
    "httpcore2",
    "importlib.readers",
    "importlib.resources.readers",
    "jsonschema",
    "openai.resources.chat",
    "openai.types",
    "pint",
    "procrastinate.manager",
    "pygments.styles",
    "rich.traceback",
    "structlog",
    "truststore",
)
"""What the program imports of others only when it is needed."""
PROBLEM = ROOT / "configs" / "problems" / "login_timeout.md"


def _warm_up():
    """Import the program, and plan once, so that children need not import, read and compile what a run needs."""
    for package in ("runtime", "actors", "replan"):
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if module.name != RUNS_AT_ONCE:
                importlib.import_module(module.name)
    for name in PRELOADED:
        importlib.import_module(name)
    from actors.quantities.units import _registry
    from replan.cli import main

    _registry()
    models = BaseModel.__subclasses__()
    for model in models:
        models += model.__subclasses__()
        model.model_rebuild()
    with tempfile.TemporaryDirectory() as home, Path(os.devnull).open("w") as nowhere:
        kept = dict(os.environ), sys.stdout, sys.stderr
        os.environ["REPLAN_HOME"], sys.stdout, sys.stderr = home, nowhere, nowhere
        with suppress(SystemExit):
            main(["run", str(PROBLEM), "-m", "rules", "--no-input"])
        environment, sys.stdout, sys.stderr = kept
        os.environ.clear()
        os.environ.update(environment)
    gc.freeze()


def serve(place):
    """Fork a child for each order, until terminated or stdin ends; return in each child, with its order and streams."""
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    lines: dict[int, socket.socket] = {}
    """The line of each child, by its process id."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen(64)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([0, door, ended, *lines.values()], [], [])
            if 0 in ready:  # The tests have ended without a word.
                for child in lines:
                    os.kill(child, signal.SIGKILL)
                os._exit(0)
            for child, line in lines.items():
                if line in ready:  # The client has gone away.
                    os.kill(child, signal.SIGKILL)
            if ended in ready:
                ended.recv(4096)
            _tell_ends(lines)
            if door in ready:
                line, _ = door.accept()
                streams, order = _received(line)
                if order is None:
                    line.close()
                    continue
                child = os.fork()
                if child == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for each in (door, ended, wake, line, *lines.values()):
                        each.close()
                    return order, streams
                for descriptor in streams:
                    os.close(descriptor)
                line.sendall(f"{child}\n".encode())
                lines[child] = line


def _received(line):
    """Return the standard streams and the order that a client sends; None where it only looks whether this listens."""
    head, descriptors, _, _ = socket.recv_fds(line, 4, 3)
    order = b""
    while len(order) < int.from_bytes(head, "big"):
        order += line.recv(ORDER_MAX)
    return descriptors, json.loads(order) if order else None


def _tell_ends(lines):
    """Tell each client whose child has stopped or ended."""
    for child in list(lines):
        done, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if not done:
            continue
        stopped = os.WIFSTOPPED(status)
        with suppress(OSError):
            lines[child].sendall(b"stopped\n" if stopped else f"{os.waitstatus_to_exitcode(status)}\n".encode())
        if not stopped:
            lines.pop(child).close()


def _become(order, streams):
    """Give this process what a started `python` would have."""
    if order.get("terminal"):
        os.setsid()
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in {*streams} - {0, 1, 2}:
        os.close(descriptor)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
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
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))


def _run(module, arguments):
    """Run the program, a module, or what the arguments of `python` name."""
    if module == PROGRAM:
        from replan.cli import main

        main(arguments)
    if not module and arguments[:1] == ["-m"]:
        module, arguments = arguments[1], arguments[2:]
    if module:
        sys.argv[1:] = arguments
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    elif arguments and not arguments[0].startswith("-"):
        sys.argv, sys.path[0] = arguments, str(Path(arguments[0]).parent.resolve())
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        os.execv(sys.executable, [sys.executable, *arguments])


def _end(code):
    # As Python ends, but for the objects: to free those of the server one by one takes half a second.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _warm_up()
    order, streams = serve(sys.argv[1])
    _become(order, streams)
    if order.get("faults"):
        suffer(order["faults"])
    try:
        _run(order["module"], order["argv"])
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        _end(end.code if isinstance(end.code, int) else int(end.code is not None))
    except Exception:  # noqa: BLE001
        traceback.print_exc()  # A child of a test has nobody else to tell.
        _end(1)
    _end(0)
