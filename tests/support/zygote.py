"""A warm process that forks real ones: the program is imported once, and each child runs the command line for real.

`python -m tests.support.zygote` reads one JSON object per line from stdin, forks, and answers with the child's exit
code (negative: the signal that killed it). An order has `argv`, `env`, `out` and `err` (files), and may have `kill`:
`{"label": L, "nth": N}` kills the child with SIGKILL when it reaches the label the nth time, `{"seconds": S}` has the
system end it, as suddenly, so long after it has reached its first label. `stop` does the same with SIGSTOP, by label;
`ttl` are the seconds of its lease; `count` names a file that gets the number of times that each label was reached;
`full` names a file as long as which is there SQLite finds no room to write (the child looks again at short intervals).
`"wait": false` answers with the child's number at once; then `{"until": PID}` answers with `"stopped"` or the exit code
once the child has come to one or the other.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw

ROOT = Path(__file__).resolve().parents[2]


class Zygote:
    """The test's side: gives orders and reads exit codes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, order: dict[str, Any]) -> int:
        """Have one command line run, and return its exit code; negative for a signal."""
        return int(self._ask(order))

    def start(self, order: dict[str, Any]) -> int:
        """Begin to run one, and return the process's number; `until` must be called until it gives an exit code."""
        return int(self._ask({**order, "wait": False}))

    def until(self, child: int) -> int | None:
        """Wait until a started process has stopped (None) or ended (its exit code)."""
        answer = self._ask({"until": child})
        return None if answer == "stopped" else int(answer)

    def _ask(self, order: dict[str, Any]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@contextmanager
def zygote() -> Iterator[Zygote]:
    """Start the warm process for the length of a `with` block."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.zygote"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Zygote(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(10)


class _Full(apsw.VFS):
    """The file system that SQLite uses from now on: without room while a file is there."""

    def __init__(self, sign: Path) -> None:
        self.sign, self.base = sign, apsw.vfs_names()[0]
        super().__init__("full", self.base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - the name is SQLite's
        return _FullFile(self, name, flags)


class _FullFile(apsw.VFSFile):
    def __init__(self, disk: _Full, name: Any, flags: list[int]) -> None:
        self.sign = disk.sign
        super().__init__(disk.base, name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        if self.sign.exists():
            raise apsw.FullError("no room")
        super().xWrite(data, offset)


def _child(order: dict[str, Any]) -> None:
    import runtime.drive.run_log
    import runtime.drive.supervisor
    from replan.cli import main
    from replan.runs import engine
    from runtime.core.crash_points import install
    from runtime.drive.supervisor import LeaseTerms

    counts: Counter[str] = Counter()
    kill, stop = order.get("kill") or {}, order.get("stop") or {}

    def reached(label: str) -> None:
        if not counts and "seconds" in kill:
            signal.setitimer(signal.ITIMER_REAL, kill["seconds"])  # Nobody handles it: the process is gone at once.
        counts[label] += 1
        if label == kill.get("label") and counts[label] == kill["nth"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if label == stop.get("label") and counts[label] == stop["nth"]:
            time.sleep(0.1)  # The writer's thread finishes its commit: one stopped within it would lock all others out.
            os.kill(os.getpid(), signal.SIGSTOP)

    install(reached)
    if "ttl" in order:
        assert engine.LeaseTerms is LeaseTerms
        engine.LeaseTerms = partial(LeaseTerms, ttl=order["ttl"])  # type: ignore[misc, assignment]
    if "full" in order:
        disk = _Full(Path(order["full"]))  # noqa: F841 - registered as long as it is held
        runtime.drive.run_log.RETRY_SECONDS = runtime.drive.supervisor.RETRY_SECONDS = 0.1
    os.environ.clear()
    os.environ.update(order["env"])
    for name, descriptor in (("out", 1), ("err", 2)):
        target = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(target, descriptor)
    sys.argv = ["replan", *order["argv"]]
    code = 1
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if order.get("count"):
            Path(order["count"]).write_text(json.dumps(counts))
        os._exit(code)


def _until(child: int) -> str:
    _, status = os.waitpid(child, os.WUNTRACED)
    return "stopped" if os.WIFSTOPPED(status) else str(os.waitstatus_to_exitcode(status))


def serve() -> None:
    """Take orders until stdin ends."""
    import genai_prices  # noqa: F401 - what the commands would import one by one, before the forks

    import replan.cli.app
    import replan.cli.commands.resume
    import replan.cli.commands.run
    import replan.cli.declarations.run
    import replan.runs.home  # noqa: F401
    import runtime.models.openai_client  # noqa: F401

    for line in sys.stdin:
        order = json.loads(line)
        if "until" in order:
            print(_until(order["until"]), flush=True)
            continue
        child = os.fork()
        if child == 0:
            os.close(0)
            _child(order)
        if not order.get("wait", True):
            print(child, flush=True)
            continue
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
