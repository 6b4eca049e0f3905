"""What a forked command suffers: it is killed or stopped at a labelled point, its clock is ahead, its disk is full.

- `kill`: `{"label": L, "nth": N}` kills it with SIGKILL when it reaches the label for the nth time;
  `{"seconds": S}` kills it that long after its first label.
- `stop`: `{"label": L, "nth": N}` stops it with SIGSTOP.
- `ttl`: the length of its lease in seconds.
- `machine`: the name of the machine that it believes it is on; processes on other machines cannot tell that it is dead.
- `ahead`: how many seconds its clock is ahead.
- `freeze`: `{"at": "MODULE:FUNCTION", "nth": N}` stops it with SIGSTOP before the nth call of a function.
- `count`: a file that gets the number of times that each label was reached.
- `cores`: the number of processors that it may use.
- `full`: a file. While it exists, SQLite finds the disk full (the command retries at short intervals).
"""

import atexit
import json
import os
import signal
import socket
import sys
import time
from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import apsw

KEPT: list[object] = []
"""What must live as long as the process."""


def suffer(faults: dict[str, Any]) -> None:
    from replan.runs import driving
    from runtime.core.hooks import set_crash_hook
    from runtime.drive.supervisor import LeaseTerms

    counts: Counter[str] = Counter()
    kill, stop = faults.get("kill") or {}, faults.get("stop") or {}

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

    set_crash_hook(reached)
    if "ttl" in faults:
        assert driving.LeaseTerms is LeaseTerms
        driving.LeaseTerms = partial(LeaseTerms, ttl=faults["ttl"])  # type: ignore[misc, assignment]
    if "machine" in faults:
        socket.gethostname = lambda: faults["machine"]
    if "ahead" in faults:
        real = time.time
        time.time = lambda: real() + faults["ahead"]
    if "freeze" in faults:
        _freeze(**faults["freeze"])
    if "full" in faults:
        _fill_the_disk(Path(faults["full"]))
    if "cores" in faults:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: faults["cores"]])
    if "count" in faults:
        atexit.register(lambda: Path(faults["count"]).write_text(json.dumps(counts)))


def _freeze(at: str, nth: int) -> None:
    module, _, name = at.partition(":")
    call, counted = resolve_name(at), count(1)

    def freeze(*arguments: Any) -> None:
        if next(counted) == nth:
            os.kill(os.getpid(), signal.SIGSTOP)
        call(*arguments)

    setattr(sys.modules[module], name, freeze)


def _fill_the_disk(marker: Path) -> None:
    import runtime.drive.run_log
    import runtime.drive.supervisor

    KEPT.append(_Full(marker))
    runtime.drive.run_log.RETRY_SECONDS = runtime.drive.supervisor.RETRY_SECONDS = 0.1


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
