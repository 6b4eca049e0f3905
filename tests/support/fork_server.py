"""A fork server for tests with real processes: it imports the program once, and each child runs one command line.

`python -m tests.support.fork_server` reads one JSON request per line from stdin, forks, and writes the exit code
of the child (negative: the signal that killed it). A request has `argv`, `env`, and files `out`, `err`. Optional keys:

- `kill`: `{"label": L, "nth": N}` kills the child with SIGKILL when it reaches the label for the nth time;
  `{"seconds": S}` kills it that long after its first label.
- `stop`: `{"label": L, "nth": N}` stops it with SIGSTOP.
- `ttl`: the length of its lease in seconds.
- `machine`: the name of the machine that it believes it is on; processes on other machines cannot tell that it is dead.
- `ahead`: how many seconds its clock is ahead.
- `freeze`: stop it with SIGSTOP in the middle of its nth transaction on Postgres.
- `count`: a file that gets the number of times that each label was reached.
- `full`: a file. While it exists, SQLite finds the disk full (the child retries at short intervals).
- `"wait": false`: answer at once with the child's process id. The request `{"until": PID}` then answers with
  `"stopped"` or the exit code as soon as there is one.
"""

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import apsw
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parents[2]
PRELOADED = (
    "actors.execution.kind",
    "actors.execution.prepare",
    "actors.planning.machine",
    "actors.planning.kind",
    "actors.planning.advance",
    "actors.planning.kind",
    "actors.planning.workflow_drift",
    "anyio._backends._trio",
    "encodings.idna",
    "encodings.utf_16_le",
    "genai_prices.data",
    "h2.connection",
    "httpcore2",
    "importlib.readers",
    "importlib.resources.readers",
    "pygments.styles",
    "replan.cli.app",
    "replan.cli.commands.execute",
    "replan.cli.commands.resume",
    "replan.cli.commands.run",
    "replan.cli.cost",
    "replan.cli.run_options",
    "replan.cli.reading",
    "replan.cli.starting",
    "replan.runs.attaching",
    "replan.runs.changes",
    "replan.runs.executing",
    "replan.runs.home",
    "rich.traceback",
    "runtime.models.openai",
    "runtime.models.openai_client",
    "structlog",
    "truststore",
)
"""What the commands would import one by one: most of the processor time of a short run."""


class ForkServer:
    """The client in the test process: sends requests and reads exit codes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, request: dict[str, Any]) -> int:
        """Run one command line and return its exit code, or the negative number of the signal that killed it."""
        return int(self._send(request))

    def start(self, request: dict[str, Any]) -> int:
        """Start a command line, and return its process id. Call `wait` until it returns an exit code."""
        return int(self._send({**request, "wait": False}))

    def wait(self, child: int) -> int | None:
        """Wait until a started process has stopped (None) or ended (its exit code)."""
        answer = self._send({"until": child})
        return None if answer == "stopped" else int(answer)

    def _send(self, request: dict[str, Any]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@contextmanager
def open_fork_server(*modules: str) -> Iterator[ForkServer]:
    """Start the fork server for the length of a `with` block; it imports further modules before it forks."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.fork_server", *modules],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield ForkServer(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(10)


class _Full(apsw.VFS):
    """SQLite's default file system: the disk is full while a given file exists."""

    def __init__(self, marker: Path) -> None:
        self.marker, self.base = marker, apsw.vfs_names()[0]
        super().__init__("full", self.base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - the name is SQLite's
        return _FullFile(self, name, flags)


class _FullFile(apsw.VFSFile):
    def __init__(self, disk: _Full, name: Any, flags: list[int]) -> None:
        self.marker = disk.marker
        super().__init__(disk.base, name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        if self.marker.exists():
            raise apsw.FullError("no room")
        super().xWrite(data, offset)


def _child(request: dict[str, Any]) -> None:
    import runtime.drive.run_log
    import runtime.drive.supervisor
    from replan.cli import main
    from replan.runs import engine
    from runtime.core.crash_points import install
    from runtime.drive.supervisor import LeaseTerms

    counts: Counter[str] = Counter()
    kill, stop = request.get("kill") or {}, request.get("stop") or {}

    def reached(label: str) -> None:
        if not counts and "seconds" in kill:
            # SIGALRM has no handler, so it kills the process at once.
            signal.setitimer(signal.ITIMER_REAL, kill["seconds"])
        counts[label] += 1
        if label == kill.get("label") and counts[label] == kill["nth"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if label == stop.get("label") and counts[label] == stop["nth"]:
            # The writer's thread finishes its commit first: a process that is stopped during one keeps the lock.
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGSTOP)

    install(reached)
    if "ttl" in request:
        assert engine.LeaseTerms is LeaseTerms
        engine.LeaseTerms = partial(LeaseTerms, ttl=request["ttl"])  # type: ignore[misc, assignment]
    if "machine" in request:
        socket.gethostname = lambda: request["machine"]
    if "ahead" in request:
        real = time.time
        time.time = lambda: real() + request["ahead"]
    if "freeze" in request:
        _freeze_in_transaction(request["freeze"])
    if "full" in request:
        disk = _Full(Path(request["full"]))  # noqa: F841 - registered while it is referenced
        runtime.drive.run_log.RETRY_SECONDS = runtime.drive.supervisor.RETRY_SECONDS = 0.1
    os.environ.clear()
    os.environ.update(request["env"])
    for name, descriptor in (("out", 1), ("err", 2)):
        target = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(target, descriptor)
    sys.argv = ["replan", *request["argv"]]
    code = 1
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if request.get("count"):
            Path(request["count"]).write_text(json.dumps(counts))
        os._exit(code)


def _freeze_in_transaction(nth: int) -> None:
    from runtime.journal.postgres import committing

    write, counted = committing.write, count(1)

    def freeze(*arguments: Any) -> None:
        if next(counted) == nth:
            os.kill(os.getpid(), signal.SIGSTOP)
        write(*arguments)

    committing.write = freeze


def _wait(child: int) -> str:
    _, status = os.waitpid(child, os.WUNTRACED)
    return "stopped" if os.WIFSTOPPED(status) else str(os.waitstatus_to_exitcode(status))


def preload(*names: str) -> None:
    """Import modules, call what is named `MODULE:FUNCTION`, and make what pydantic's models make at their first use."""
    for name in (*PRELOADED, *names):
        module, _, function = name.partition(":")
        imported = importlib.import_module(module)
        if function:
            getattr(imported, function)()
    models: list[type[BaseModel]] = BaseModel.__subclasses__()
    for model in models:
        models += model.__subclasses__()
        model.model_rebuild()
    gc.freeze()


def serve() -> None:
    """Take requests until stdin ends."""
    preload(*sys.argv[1:])
    for line in sys.stdin:
        request = json.loads(line)
        if "until" in request:
            print(_wait(request["until"]), flush=True)
            continue
        child = os.fork()
        if child == 0:
            os.close(0)
            _child(request)
        if not request.get("wait", True):
            print(child, flush=True)
            continue
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
