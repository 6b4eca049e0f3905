"""A warm command line: the program is imported once, and every `replan` in an example forks from that.

`python -m tests.docs.warm SOCKET` listens; the command `replan` that examples find is a small script (`SHIM`) that
hands its arguments, folder, environment and standard streams over, and leaves with the exit code that comes back.
"""

import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ORDER_MAX = 1024 * 1024
COSTLY = {"replan.__main__", "runtime.models.openai_client"}
"""What is not imported beforehand: it would run, or no example needs it."""

SHIM = """#!{python} -ISs
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({path!r})
    order = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(line, [len(order).to_bytes(4, "big")], [0, 1, 2])
    line.sendall(order)
    sys.exit(int(line.recv(16) or b"70"))
"""


@contextmanager
def warm_commands(folder: Path) -> Iterator[Path]:
    """Yield a folder to put on the search path, in which `replan` is the checkout's command line, and quick."""
    place = folder / "line"
    command = folder / "replan"
    command.write_text(SHIM.format(python=sys.executable, path=str(place)))
    command.chmod(0o700)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.docs.warm", str(place)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield folder
        finally:
            process.terminate()


def serve(place: str) -> None:
    """Fork a child for each order, until terminated."""
    from replan.cli import main

    for package in ("runtime", "actors", "replan"):
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if module.name not in COSTLY:
                importlib.import_module(module.name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()
        print("ready", flush=True)
        while True:
            line, _ = door.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                door.close()
                _child(line, main)
            line.close()


def _child(line, main):
    head, descriptors, _, _ = socket.recv_fds(line, 4, 3)
    order = b""
    while len(order) < int.from_bytes(head, "big"):
        order += line.recv(ORDER_MAX)
    arguments, folder, environment = json.loads(order)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # The old objects remember what kind of file they were opened for.
    streams = [open(number, mode, closefd=False) for number, mode in enumerate("rww")]  # noqa: SIM115
    sys.stdin, sys.stdout, sys.stderr = streams
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    code = 1
    try:
        main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001
        traceback.print_exc()  # A child of a test has nobody else to tell.
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        line.sendall(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
