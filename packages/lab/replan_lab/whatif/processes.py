"""Replays many runs in processes.

The replay of each run has a time limit. If a process fails, only the run that it was replaying is affected.
"""

import contextlib
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from queue import Queue
from typing import Any

import orjson

from replan_lab.whatif.differences import FoldOutcome, RunComparison
from replan_lab.whatif.edits import EditRequest
from replan_lab.whatif.recorded_run import StoredRun
from runtime.core.errors import UsageProblem

QUEUED_MAX = 16
START_SECONDS = 60.0
"""The time limit in seconds for the start of a worker process. The start includes loading plug-ins."""
PACKAGE = Path("packages") / "lab"
"""The folder of the laboratory's package, relative to the root of a checkout."""
WORKER = PACKAGE / "replan_lab" / "whatif" / "worker.py"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A program that replays runs: this program, or the program of another checkout."""

    root: Path
    """The folder that contains the program's packages."""
    python: str = sys.executable

    @classmethod
    def own(cls) -> "Checkout":
        """Return this program."""
        return cls(Path(str(files("replan"))).resolve().parent)

    @classmethod
    def at(cls, folder: str) -> "Checkout":
        """Return the program of another checkout, with the checkout's own environment if it has one.

        Raises `UsageProblem`.
        """
        root = Path(folder).resolve()
        if not (root / WORKER).is_file():
            hint = "name a checkout of a release of Replan that has `whatif`"
            raise UsageProblem(f"the folder {folder} has no file {WORKER}", place="--release", hint=hint)
        python = root / ".venv" / "bin" / "python"
        return cls(root, str(python) if python.exists() else sys.executable)


@dataclass
class _Results:
    findings: list[RunComparison] = field(default_factory=list)
    error: BaseException | None = None


def fold_all(
    runs: Iterable[StoredRun],
    request: EditRequest,
    checkout: Checkout,
    *,
    seconds: float,
    processes: int,
    daily_budget: bool = False,
) -> list[RunComparison]:
    """Return the comparison of each run, in any order. `seconds` is the time limit of one run.

    Raises `UsageProblem` for an edit that cannot be used, and for a program that cannot be started.
    """
    jobs: Queue[StoredRun | None] = Queue(QUEUED_MAX * processes)
    results = _Results()
    first = orjson.dumps({**asdict(request), "daily_budget": daily_budget}, option=orjson.OPT_APPEND_NEWLINE)
    arguments = jobs, results, checkout, first, seconds
    threads = [threading.Thread(target=_work, args=arguments, daemon=True) for _ in range(processes)]
    for thread in threads:
        thread.start()
    try:
        for stored in runs:
            jobs.put(stored)
            if results.error is not None:
                break
    finally:
        for _ in threads:
            jobs.put(None)
        for thread in threads:
            thread.join()
    if results.error is not None:
        raise results.error
    return results.findings


def _work(jobs: Queue[StoredRun | None], results: _Results, checkout: Checkout, first: bytes, seconds: float) -> None:
    """Send runs to a worker process until no run is left. If the process ends, start another one."""
    worker: _Worker | None = None
    try:
        worker = _Worker(checkout, first)  # Also without any run: an edit that cannot be used is an error.
    except BaseException as error:  # noqa: BLE001 -- raised again where the threads are joined
        results.error = error
    while (stored := jobs.get()) is not None:
        if results.error is not None:
            continue  # The queue is emptied, so nobody waits for room in it.
        try:
            if worker is None:
                worker = _Worker(checkout, first)
            answer = worker.ask(stored.to_line(), seconds)
        except BaseException as error:  # noqa: BLE001 -- raised again where the threads are joined
            results.error = error
            continue
        if isinstance(answer, str):
            results.findings.append(RunComparison(stored.run, FoldOutcome.FAILED, stored.status, reason=answer))
            worker.end()
            worker = None
        else:
            results.findings.append(RunComparison.from_json(answer))
    if worker is not None:
        worker.end()


class _Worker:
    def __init__(self, checkout: Checkout, first: bytes) -> None:
        """Start the process. Raises `UsageProblem` if the process does not start or cannot use the edit."""
        paths = os.pathsep.join((str(checkout.root), str(checkout.root / PACKAGE)))
        environment = {**os.environ, "PYTHONPATH": paths}
        command = [checkout.python, "-m", "replan_lab.whatif.worker"]
        self._process = subprocess.Popen(  # noqa: S603 -- this program, or one that the user names
            command, cwd=checkout.root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._unread = b""
        answer = self.ask(first, START_SECONDS)
        if answer:
            self.end()
            if isinstance(answer, str):
                hint = "read the output of the program above"
                raise UsageProblem(f"the program of {checkout.root} does not start", place="--release", hint=hint)
            raise UsageProblem(answer["cause"], place=answer["place"], hint=answer["hint"])

    def ask(self, line: bytes, seconds: float) -> dict[str, Any] | str:
        """Send a line to the process. Return its answer, or the reason why there is no answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError:
            return "the process that replays the run ended without an answer"
        return self._answer(time.monotonic() + seconds, seconds)

    def _answer(self, deadline: float, seconds: float) -> dict[str, Any] | str:
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([output], [], [], left)[0]:
                return f"the replay did not end within {seconds:g} s"
            read = os.read(output, 1 << 20)
            if not read:
                return "the process that replays the run ended without an answer"
            self._unread += read
        answer, _, self._unread = self._unread.partition(b"\n")
        fields: dict[str, Any] = orjson.loads(answer)
        return fields

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
