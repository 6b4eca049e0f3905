"""Common parts of the benchmarks: contestants in their own processes, interleaved rounds, paired ratios, results.

The machine's speed changes within minutes, so absolute times are not comparable. In every round each contestant runs
once, in rotating order, and ratios are computed within a round. The result is their median, minimum and maximum.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SCRATCH = HERE / ".scratch"
"""On the disk of the checkout: in a memory file system a durable write would take no time."""
PEERS = HERE / ".venv" / "bin" / "python"


class Contestant:
    """A worker process (`worker.py`) that runs cases, controlled over pipes."""

    def __init__(self, python, script, *arguments):
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115 -- closed with the worker
        self._process = subprocess.Popen(
            [python, HERE / script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
        )
        self._receive()

    @property
    def process(self):
        """The worker's process."""
        return self._process

    def ask(self, case, **arguments):
        """Run a case, and return its result."""
        self.start(case, **arguments)
        return self.finish()

    def start(self, case, **arguments):
        """Start a case."""
        self._process.stdin.write(json.dumps({"case": case, "arguments": arguments}) + "\n")
        self._process.stdin.flush()

    def finish(self):
        """Wait for the case that was started, and return its result."""
        answer = self._receive()
        if "error" in answer:
            sys.exit(answer["error"])
        return answer["result"]

    def close(self):
        """End the worker."""
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._stderr.close()

    def _receive(self):
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._stderr.seek(0)
            sys.exit(f"a worker has died: {self._stderr.read()}")
        return json.loads(line)


def start_contestants(*, peers):
    """Start this project's worker, and with `peers` theirs; exit with a message if these are not installed."""
    if peers and not PEERS.exists():
        sys.exit("The peers are not installed: run `make peers`, or measure without them (--no-peers).")
    SCRATCH.mkdir(exist_ok=True)
    contestants = {"replan": Contestant(sys.executable, "worker_replan.py")}
    if peers:
        contestants["langgraph"] = Contestant(PEERS, "worker_langgraph.py")
        contestants["dbos"] = Contestant(PEERS, "worker_dbos.py", str(SCRATCH))
    return contestants


def provenance_of(*packages, peers=False):
    """Return the provenance of a result: commit, date, machine, and the versions of packages and of the peers."""
    packages = packages or ("trio", "apsw", "pydantic")
    theirs = versions(PEERS, "langgraph", "langgraph-checkpoint-sqlite", "dbos") if peers else {}
    return {
        "commit": commit(),
        "date": today(),
        "machine": machine(),
        "versions": versions(sys.executable, *packages) | theirs,
    }


def interleave(cases, rounds, *, warm_up=1):
    """Return the measurements of each case, by round; a case is a function that returns a number."""
    names = list(cases)
    measurements = {name: [] for name in names}
    for number in range(-warm_up, rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            value = cases[name]()
            if number >= 0:
                measurements[name].append(value)
    return measurements


def spread(values, digits=3):
    """Return median, minimum and maximum, rounded to significant digits."""
    summary = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: float(f"{value:.{digits}g}") for name, value in summary.items()}


def ratios(ours, theirs, factor=1.0):
    """Return the spread of the ratios ours : theirs of the same round."""
    return spread([factor * our_time / their_time for our_time, their_time in zip(ours, theirs, strict=True)])


def spread_text(values):
    """Return a spread as a cell of a table."""
    return f"{values['median']:g} ({values['min']:g} to {values['max']:g})"


def machine():
    """Return the properties of the machine that affect the results."""
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "load_before": round(os.getloadavg()[0], 1),
    }


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def versions(python, *names):
    """Return the versions of the packages that an interpreter has installed."""
    code = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    answer = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def commit():
    """Return the current commit, with a plus sign if files differ from it; empty outside a repository."""
    command = ["git", "-C", HERE, "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def today():
    """Return the date, in UTC."""
    return datetime.now(UTC).date().isoformat()


def write(name, results):
    """Write the results as JSON."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to {path.relative_to(HERE.parent)}")


def table(heads, rows):
    """Return a Markdown table."""
    widths = [max(len(str(row[column])) for row in [heads, *rows]) for column in range(len(heads))]
    rule = ["-" * width for width in widths]
    lines = (
        "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [heads, rule, *rows]
    )
    return "\n".join(lines)


def verdict(median, goal):
    """Return whether a goal was met, as text; empty if there is no goal."""
    return "" if goal is None else f"at most {goal:g}: {'met' if median <= goal else '**missed**'}"
