"""Memory and CPU of a host with thousands of waiting runs, and the time from an answer to the next model request.

    python benchmarks/bench_host.py [--runs N] [--seconds S] [--wakes N]

Creates a home with N runs that wait for an answer, and starts `replan host` for it. Memory is the resident set of the
host, less that of a host with an empty home. CPU is measured over S idle seconds. The start is the time from starting
the process to its line `ready`. Waking is the time from the commit of an answer to the arrival of the next request for
the model in this process. The first wake, which imports the client's library, is reported separately.

Prints a table, writes results/host.json. Linux only: it reads /proc.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trio
from common import HERE, SCRATCH, provenance_of, spread, spread_text, table, verdict, write

ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from actors.planning.prepare import PlanningInput, RunOptions  # noqa: E402
from replan.runs.home import open_home  # noqa: E402
from replan.runs.inbox import check_answer, post_answer  # noqa: E402
from replan.runs.prepare import RunOrder, prepare  # noqa: E402
from replan.setup.plugins import registry  # noqa: E402
from replan.setup.settings import UserConfig  # noqa: E402
from runtime.core.ledger import Usage  # noqa: E402
from runtime.models.port import Reply  # noqa: E402

GOALS = {"memory_mib": 50, "cpu_percent": 0.5, "wake_ms": 20, "start_s": 2}
SIDE_BY_SIDE = 200
ANALYSIS = {
    "problem_type": "bug_fix",
    "language": "python",
    "severity": "high",
    "key_signals": ["timeout"],
    "affected_area": "login",
    "rationale": "It worked before.",
}
ASKING = {**ANALYSIS, "open_questions": ["Which version is it?"]}
PROBLEM = "The login fails with a timeout when the session store is slow."


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000, help="waiting runs (10,000)")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of idling (60)")
    parser.add_argument("--wakes", type=int, default=50, help="runs to wake (50)")
    options = parser.parse_args()
    SCRATCH.mkdir(exist_ok=True)
    facts = provenance_of("trio", "apsw", "openai")
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder, provider() as arrivals:
        empty, full = Path(folder) / "empty", Path(folder) / "full"
        trio.run(fill, full, options.runs)
        with hosting(empty) as (process, start_empty):
            idle = resident_mib(process)
        with hosting(full) as (process, start):
            memory = resident_mib(process)
            cpu = cpu_percent(process, options.seconds)
            wakes = trio.run(wake, full, range(options.wakes), arrivals)
    first, *others = wakes
    results = {
        **facts,
        "runs": options.runs,
        "idle_seconds": options.seconds,
        "memory_mib": {"empty": idle, "full": memory, "over": round(memory - idle, 1)},
        "cpu_percent": cpu,
        "start_s": {"empty": start_empty, "full": start},
        "wake_ms": spread(others),
        "first_wake_ms": round(first, 1),
        "goals": GOALS,
    }
    print(tables(results))
    write("host", results)


def tables(results):
    """Return the results as Markdown."""
    memory, wakes, goals = results["memory_mib"], results["wake_ms"], results["goals"]
    rows = (
        ("memory over an idle host, MiB", memory["over"], verdict(memory["over"], goals["memory_mib"])),
        ("CPU, percent of a core", results["cpu_percent"], verdict(results["cpu_percent"], goals["cpu_percent"])),
        ("waking one, ms", spread_text(wakes), verdict(wakes["median"], goals["wake_ms"])),
        ("start to ready, s", results["start_s"]["full"], verdict(results["start_s"]["full"], goals["start_s"])),
    )
    return f"One host over {results['runs']:,} waiting runs:\n\n{table(('', 'measured', 'goal'), rows)}"


class Asker:
    """A model in this process whose every reply has an open question."""

    name = "bench"

    async def complete(self, _):
        """Return an analysis with an open question."""
        await trio.lowlevel.checkpoint()
        return Reply(text=json.dumps(ASKING), usage=Usage(input_tokens=100, output_tokens=100), model=self.name)

    async def get(self, *_):
        """Return the model, for every name."""
        await trio.lowlevel.checkpoint()
        return self


async def fill(home, runs):
    """Create a home with runs that wait for an answer."""
    slots = trio.CapacityLimiter(SIDE_BY_SIDE)
    async with open_home(environment=environment(home)) as opened, trio.open_nursery() as nursery:
        engine = replace(opened, models=Asker())
        job = prepare(
            RunOrder(PlanningInput(PROBLEM, RunOptions(workflow="option_a")), "bench"),
            config=UserConfig(),
            registry=registry(),
            environment=engine.environment,
            now=engine.clock.now(),
        ).request

        async def begin(number):
            async with slots:
                result = await engine.begin(job, run=f"run{number:05}")
            assert result.status == "waiting", result

        for number in range(runs):
            nursery.start_soon(begin, number)


async def wake(home, numbers, arrivals):
    """Answer the questions of the runs with these numbers, in turn; return the milliseconds to their next requests."""
    times = []
    async with open_home(environment=environment(home)) as engine:
        for number in numbers:
            run = f"run{number:05}"
            common = await engine.common_with_inbox(run)
            await post_answer(engine.journal, check_answer(common, run, "q1", "version 3.12"))
            committed = time.perf_counter()
            engine.wakeup.wake()
            with trio.fail_after(30):
                while run not in arrivals:  # noqa: ASYNC110 -- another thread writes it
                    await trio.sleep(0.001)
            times.append((arrivals[run] - committed) * 1000)
            await trio.sleep(0.3)  # Until the host is idle again.
    return times


@contextmanager
def provider():
    """Serve a model in this process; yield the time of the first request of each run, by run."""
    arrivals = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            """Record the time, and answer with an analysis that has an open question."""
            arrived = time.perf_counter()
            arrivals.setdefault(self.headers["X-Client-Request-Id"].partition("/")[0], arrived)
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": json.dumps({**ANALYSIS, "open_questions": ["And now?"]})}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 100, "completion_tokens": 100, "total_tokens": 200}
            body = {"id": "1", "object": "chat.completion", "created": 1, "model": "bench"}
            data = json.dumps(body | {"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield arrivals
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def hosting(home, *command):
    """Run a host, or another command that drives runs, for a home; yield its process, and the seconds to its start."""
    begun = time.perf_counter()
    words = [sys.executable, "-m", "replan", *(command or ["host"]), "--json"]
    pipes = {"stdout": subprocess.PIPE, "env": environment(home), "cwd": ROOT}
    with subprocess.Popen(words, **pipes) as process:
        assert json.loads(process.stdout.readline())["event"] == "ready"
        start = round(time.perf_counter() - begun, 2)
        drain = threading.Thread(target=process.stdout.read)
        drain.start()
        time.sleep(3)
        try:
            yield process, start
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)
            drain.join()


def environment(home):
    """Return the environment variables for a home."""
    return {**os.environ, "REPLAN_HOME": str(home), "PYTHONPATH": str(ROOT)}


def resident_mib(process, which="VmRSS"):
    """Return a process's resident set in MiB: what it is now, or with `VmHWM` the most that it was."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(f"{which}:"):
            return round(int(line.split()[1]) / 1024, 1)
    sys.exit("the system does not say how much memory a process has")


def cpu_percent(process, seconds):
    """Return the CPU usage of a process, in percent of a core."""
    before = cpu_seconds(process)
    time.sleep(seconds)
    return round(100 * (cpu_seconds(process) - before) / seconds, 3)


def cpu_seconds(process):
    """Return the processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
