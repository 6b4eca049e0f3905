"""The server of `tests.support.commands`: it imports a module once, and each of its children runs one command.

`python -m tests.support.command_server SOCKET` listens. It tells each client the process id of its command, then, in
lines of their own, that it has been `stopped`, as often as it is, and its exit code (negative: the signal that killed
it). A client that goes away takes its command with it.

The server starts with little. A command that ends writes which modules it had to import into a file of its own; the
server imports them before it starts the next command. A command that is killed teaches nothing, nor does another
program than `replan`.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import sysconfig
import tempfile
import termios
import time
import traceback
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel

from replan.setup import model_discovery
from tests.support.commands import PRODUCT, PROGRAM, ROOT
from tests.support.faults import suffer

ORDER_MAX = 1024 * 1024
PACKAGES = ("runtime", "actors", "replan")
PLANS = "actors.planning.kind"
"""A command that imports this module plans."""
PROBLEM = ROOT / "configs" / "problems" / "login_timeout.md"
LEARNED = "learned"
"""How the name of the file begins that a command leaves for the server; its process id follows."""


def _installed():
    """Return the folders whose modules every command may have: the product's, Python's and those of its packages."""
    paths = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple(f"{path}{os.sep}" for path in (*paths, *(ROOT / name for name in PACKAGES)))


def _teach(folder, known):
    """Leave the names of what this command had to import, in its order."""
    installed = _installed()
    names = [
        name
        for name, module in [*sys.modules.items()]
        # A lazy module is loaded by a look at it.
        if name not in known and str(object.__getattribute__(module, "__dict__").get("__file__")).startswith(installed)
    ]
    if names:
        part = folder / f"{os.getpid()}.part"
        part.write_text("\n".join(names))
        part.replace(folder / f"{LEARNED}{os.getpid()}.txt")


def _learn(folder):
    """Import what the commands that have ended had to import."""
    new = []
    for file in sorted(folder.glob(f"{LEARNED}*.txt")):
        new += [name for name in file.read_text().split() if name not in sys.modules]
        file.unlink()
    for name in new:
        with suppress(ImportError):  # A module that another one has made.
            importlib.import_module(name)
    if new:
        for model in _models():
            model.model_rebuild()
        if PLANS in new:
            _plan()
        gc.freeze()


def _plan():
    """Plan once, so that children need not read and compile what a run needs."""
    from replan.cli import main

    with tempfile.TemporaryDirectory() as home, Path(os.devnull).open("w") as nowhere:
        kept = dict(os.environ), sys.stdout, sys.stderr
        os.environ["REPLAN_HOME"], sys.stdout, sys.stderr = home, nowhere, nowhere
        with suppress(SystemExit):
            main(["run", str(PROBLEM), "-m", "template:bug", "--no-input"])
        environment, sys.stdout, sys.stderr = kept
        os.environ.clear()
        os.environ.update(environment)


def _models():
    models = BaseModel.__subclasses__()
    for model in models:
        models += model.__subclasses__()
    return models


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
                _learn(Path(place).parent)
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
    # No command looks at the ports of this machine but those that its test names.
    model_discovery.PORTS = json.loads(os.environ.pop("TEST_MODEL_PORTS", "{}"))
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
    order, streams = serve(sys.argv[1])
    if order["module"] in (PRODUCT, PROGRAM):
        atexit.register(_teach, Path(sys.argv[1]).parent, set(sys.modules))
    _become(order, streams)
    if order.get("faults"):
        suffer(order["faults"])
    try:
        _run(order["module"], order["argv"])
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        _end(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    except Exception:  # noqa: BLE001
        traceback.print_exc()  # A child of a test has nobody else to tell.
        _end(1)
    _end(0)
