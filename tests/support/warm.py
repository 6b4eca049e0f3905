"""A warm command line: the program is imported once, and every `replan` that a test starts forks from that.

`python -m tests.support.warm SOCKET` listens; the command `replan` is a small script (`SHIM`) that hands its arguments,
folder, environment and standard streams over. It passes signals on, and ends as its child does: with the same exit
code, or by the same signal. Where it is killed itself, its child is killed a moment later; `kill` kills both in order.
"""

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ORDER_MAX = 1024 * 1024
RUNS_AT_ONCE = "replan.__main__"
"""What is not imported beforehand, since it would run."""
PROBLEM = ROOT / "configs" / "problems" / "login_timeout.md"

SHIM = """#!{python} -ISs
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({path!r})
    order = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(line, [len(order).to_bytes(4, "big")], [0, 1, 2])
    line.sendall(order)
    child = int(line.recv(16))
    with open(f"{{sys.argv[0]}}.{{os.getpid()}}", "w") as note:
        note.write(str(child))
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    code = int(line.recv(16) or b"70")
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if code != -signal.SIGKILL else None
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@contextmanager
def warm_commands() -> Iterator[Path]:
    """Yield a folder to put on the search path, in which `replan` is the checkout's command line, and quick."""
    # The name of a socket has a limit, so the folder has a short path.
    with tempfile.TemporaryDirectory(prefix="rp") as name:
        folder = Path(name)
        place, command = folder / "line", folder / "replan"
        command.write_text(SHIM.format(python=sys.executable, path=str(place)))
        command.chmod(0o700)
        with subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm", str(place)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                yield folder
            finally:
                process.terminate()


def kill(folder: Path, command: int) -> None:
    """Kill the program behind a running command, by the command's process id; the command ends when it has ended."""
    os.kill(int((folder / f"replan.{command}").read_text()), signal.SIGKILL)


def _warm_up():
    """Import the program, and plan once, so that children need not import, read and compile what a run needs."""
    from replan.cli import main

    for package in ("runtime", "actors", "replan"):
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if module.name != RUNS_AT_ONCE:
                importlib.import_module(module.name)
    with tempfile.TemporaryDirectory() as home, Path(os.devnull).open("w") as nowhere:
        kept = dict(os.environ), sys.stdout, sys.stderr
        os.environ["REPLAN_HOME"], sys.stdout, sys.stderr = home, nowhere, nowhere
        with suppress(SystemExit):
            main(["run", str(PROBLEM), "-m", "rules", "--no-input"])
        environment, sys.stdout, sys.stderr = kept
        os.environ.clear()
        os.environ.update(environment)
    gc.freeze()
    return main


def serve(place: str) -> None:
    """Fork a child for each order, until terminated."""
    main = _warm_up()
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    lines: dict[int, socket.socket] = {}
    """The line of each child, by its process id."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([door, ended, *lines.values()], [], [])
            for child, line in lines.items():
                if line in ready:  # The command was killed, so its child is.
                    os.kill(child, signal.SIGKILL)
            if ended in ready:
                ended.recv(4096)
            _tell_ends(lines)
            if door in ready:
                line, _ = door.accept()
                order = _received(line)
                child = os.fork()
                if child == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for each in (door, ended, wake, line, *lines.values()):
                        each.close()
                    _run(main, *order)
                for descriptor in order[0]:
                    os.close(descriptor)
                line.sendall(str(child).encode())
                lines[child] = line


def _received(line):
    """Return the standard streams, the arguments, the folder and the environment that a command sends."""
    head, descriptors, _, _ = socket.recv_fds(line, 4, 3)
    order = b""
    while len(order) < int.from_bytes(head, "big"):
        order += line.recv(ORDER_MAX)
    return descriptors, *json.loads(order)


def _tell_ends(lines):
    """Tell each command whose child has ended how it ended."""
    for child in list(lines):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            with lines.pop(child) as line, suppress(OSError):
                line.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _run(main, descriptors, arguments, folder, environment):
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # The old objects remember what kind of file they were opened for.
    streams = [open(number, mode, closefd=False) for number, mode in enumerate("rww")]  # noqa: SIM115
    sys.stdin, sys.stdout, sys.stderr = streams
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    code = 1
    try:
        main(arguments)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001
        traceback.print_exc()  # A child of a test has nobody else to tell.
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
