"""The journal in Postgres: steps of several processes beside DBOS, and what a large database costs.

    python benchmarks/bench_postgres.py [--rounds N] [--runs N] [--largest N] [--no-peers] [--only PART...]

A Postgres server is started in a temporary folder, with fsync and synchronous commits on, for both contestants.

- steps: 1, 2 and 4 processes with 100 concurrent runs each, of 10 steps (generate and judge, as in bench_steps.py), in
  interleaved rounds; the processor time of a step; and how often the server syncs its log for one (pg_stat_wal).
- growth: the same with one process, in databases that hold 1,000, 10,000 and 100,000 finished runs.
- waiting: with 100,000 runs that wait, the list of the newest 200 of them, and the time from the commit of an answer
  to the next request at the model's server, of a host and of a worker that listen for notices.
- memory: what a process needs that drives 1,000 runs at once.

The runs that fill a database are copies of one run's rows, made by SQL. Prints tables, writes results/postgres.json.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import trio
from bench_steps import STEPS_MANY, TEXT_BYTES
from common import (
    HERE,
    PEERS,
    SCRATCH,
    Contestant,
    commit,
    interleave,
    machine,
    ratios,
    spread,
    today,
    versions,
    write,
)
from postgres_rows import copies, size_of
from postgres_tables import tables

sys.path.insert(0, str(HERE.parent))

import bench_host

from actors.planning.kind import CODEC
from packages.server.tests.support.postgres import running_server
from runtime.core.clock import SystemClock
from runtime.journal.port import RunFilter
from runtime.open_journal import open_journal

PROCESSES = (1, 2, 4)
SERVER = {"fsync": "on", "shared_buffers": "256MB", "max_connections": "200", "autovacuum": "on", "max_wal_size": "4GB"}
SIZES = (1_000, 10_000, 100_000)
GOALS = {"times_dbos": 3.0, "growth": 1.1, "list_ms": 50, "wake_ms": 50}
REAL = 60
"""The waiting runs that are no copies: those that are woken."""
DRIVEN = 1_000
"""The concurrent runs of the process whose memory is measured."""
PARTS = ("steps", "growth", "waiting", "memory")


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--runs", type=int, default=100, help="concurrent runs of a process (100)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="runs in the largest database (100,000)")
    parser.add_argument("--no-peers", action="store_true", help="measure only this project")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="measure only these parts")
    options = parser.parse_args()
    SCRATCH.mkdir(exist_ok=True)
    peers = not options.no_peers and "steps" in options.only
    facts = {
        "commit": commit(),
        "date": today(),
        "machine": machine(),
        "versions": versions(sys.executable, "trio", "psycopg", "procrastinate")
        | (versions(PEERS, "dbos") if peers else {}),
        "rounds": options.rounds,
        "runs": options.runs,
        "steps": STEPS_MANY,
        "goals": GOALS,
    }
    sizes = (*(size for size in SIZES if size < options.largest), options.largest)
    with running_server(**SERVER) as server:
        facts["server"] = server.execute("postgres", "SHOW server_version")[0][0].split()[0]
        measured = {
            "steps": lambda: processes(server, options.runs, options.rounds, peers=peers),
            "growth": lambda: growth(server, sizes, options.runs, options.rounds),
            "waiting": lambda: waiting(server, options.largest),
            "memory": lambda: memory(server),
        }
        parts = {}
        for name in options.only:
            load = os.getloadavg()[0]
            parts[name] = {**measured[name](), "load_before": round(load, 1)}
    results = json.loads(json.dumps({**earlier(), **facts, **{f"part_{name}": part for name, part in parts.items()}}))
    print(tables(results))
    write("postgres", results)


def earlier():
    """Return the parts that were measured before, so that one part can be measured again."""
    path = HERE / "results" / "postgres.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return {name: part for name, part in found.items() if name.startswith("part_")}


def emptied(server, name):
    """Return the URL of a new database."""
    server.execute("postgres", f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}")
    return server.url(name)


def contestant(server, name, number):
    """Start a process of a contestant."""
    if name == "replan":
        return Contestant(sys.executable, "worker_replan.py")
    return Contestant(PEERS, "worker_dbos.py", str(SCRATCH), server.url("dbos"), f"executor-{number}")


class Runs:
    """Numbers runs, so that no two have one id."""

    def __init__(self):
        self.next = 0

    def of(self, count):
        """Return the number of the first of so many new runs."""
        self.next += count
        return self.next - count


def together(workers, name, url, runs, numbers):
    """Return the steps a second of processes with so many runs each."""
    for worker in workers:
        own = {"scratch": str(SCRATCH), "url": url, "first": numbers.of(runs)} if name == "replan" else {}
        case = "chains" if name == "replan" else "many"
        worker.start(case, runs=runs, steps=STEPS_MANY, text_bytes=TEXT_BYTES, **own)
    answers = [worker.finish() for worker in workers]
    seconds = max(answer["ended"] for answer in answers) - min(answer["began"] for answer in answers)
    return sum(answer["steps"] for answer in answers) / seconds


def processes(server, runs, rounds, *, peers):
    """Return the steps a second of 1, 2 and 4 processes of each contestant, and the syncs of a step."""
    url, numbers = emptied(server, "replan"), Runs()
    emptied(server, "dbos")
    names = ("replan", "dbos") if peers else ("replan",)
    busy = {name: [] for name in names}
    syncs = {
        name: [
            log_syncs(server, name, partial(together, name=name, url=url, numbers=numbers), runs, count)
            for count in (1, PROCESSES[-1])
        ]
        for name in names
    }
    with ExitStack() as stack:
        started = {name: [contestant(server, name, number) for number in range(PROCESSES[-1])] for name in names}
        for worker in (worker for workers in started.values() for worker in workers):
            stack.callback(worker.close)
        cases = {
            (name, count): partial(together, started[name][:count], name, url, runs, numbers)
            for count in PROCESSES
            for name in names
        }
        others = {case: [] for case in cases}
        watched = {
            case: partial(watch, server, started[case[0]], drive, others[case].append) for case, drive in cases.items()
        }
        rates = interleave(watched, rounds)
        for _ in range(rounds):
            for name in names:
                busy[name].append(processor(server, started[name][0], cases[name, 1], runs * STEPS_MANY))
    return {
        "processor_us_per_step": {
            name: {"process": spread([each[0] for each in values]), "server": spread([each[1] for each in values])}
            for name, values in busy.items()
        },
        "processor_dbos_to_replan": ratios(*(list(map(sum, busy[name])) for name in ("dbos", "replan")))
        if peers
        else None,
        "per_second": {name: {count: spread(rates[name, count]) for count in PROCESSES} for name in names},
        "times_dbos": {count: ratios(rates["replan", count], rates["dbos", count]) for count in PROCESSES}
        if peers
        else {},
        "others_percent": {
            name: spread([each for count in PROCESSES for each in others[name, count]]) for name in names
        },
        "times_one": {
            name: {count: ratios(rates[name, count], rates[name, 1]) for count in PROCESSES[1:]} for name in names
        },
        "syncs_per_step": {name: dict(zip((1, PROCESSES[-1]), values, strict=True)) for name, values in syncs.items()},
    }


def watch(server, workers, drive, note):
    """Return what `drive` returns; note how many percent of the machine's processors other programs took meanwhile."""

    def seconds():
        own = sum(bench_host.cpu_seconds(worker.process) for worker in workers) + server_seconds(server)
        fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        idle = fields[3] + fields[4]
        return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK") - own, sum(fields) / os.sysconf("SC_CLK_TCK")

    before = seconds()
    rate = drive()
    others, whole = (new - old for old, new in zip(before, seconds(), strict=True))
    note(max(0.0, 100 * others / whole))
    return rate


def processor(server, worker, drive, steps):
    """Return the microseconds of processor time of a step: in the process, and in the server."""
    before = bench_host.cpu_seconds(worker.process), server_seconds(server)
    drive()
    after = bench_host.cpu_seconds(worker.process), server_seconds(server)
    return [1e6 * (new - old) / steps for old, new in zip(before, after, strict=True)]


def server_seconds(server):
    """Return the processor time of all processes of the server so far."""
    postmaster = (server.folder / "data" / "postmaster.pid").read_text().split()[0]
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has ended.
        if folder.name == postmaster:
            ticks += sum(map(int, fields[11:15]))  # With its children that have ended.
        elif fields[1] == postmaster:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def log_syncs(server, name, drive, runs, count):
    """Return how often the server syncs its log for a step: over whole processes, less those that do nothing."""

    def lives(each):
        workers = [contestant(server, name, number) for number in range(count)]
        before = server.execute("postgres", "SELECT wal_sync FROM pg_stat_wal")[0][0]
        if each:
            drive(workers, runs=each)
        for worker in workers:
            worker.close()  # The server counts what a connection did when that ends.
        time.sleep(1)
        return server.execute("postgres", "SELECT wal_sync FROM pg_stat_wal")[0][0] - before

    lives(1)
    idle = lives(0)
    return round((lives(runs) - idle) / (count * runs * STEPS_MANY), 3)


def growth(server, sizes, runs, rounds):
    """Return the time of a step in databases of each size."""
    numbers = Runs()
    worker = contestant(server, "replan", 0)
    urls = {size: emptied(server, f"size{size}") for size in sizes}
    for size, url in urls.items():
        together([worker], "replan", url, 1, numbers)
        copies(server, f"size{size}", size, f"run-{numbers.next - 1:06}")
    cases = {size: partial(together, [worker], "replan", url, runs, numbers) for size, url in urls.items()}
    rates = interleave(cases, rounds)
    worker.close()
    times = {size: [1e6 / rate for rate in values] for size, values in rates.items()}
    return {
        "us_per_step": {size: spread(values) for size, values in times.items()},
        "largest_to_smallest": ratios(times[sizes[-1]], times[sizes[0]]),
        "database_mb": {size: round(size_of(server, f"size{size}") / 1e6) for size in sizes},
    }


def waiting(server, count):
    """Return how long the list and the waking of runs take among many that wait."""
    url = emptied(server, "waiting")
    os.environ.update(REPLAN_JOURNAL=url, REPLAN_JOURNAL_DIRECT=url)
    try:
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder, bench_host.provider() as arrivals:
            home = Path(folder) / "home"
            trio.run(bench_host.fill, home, REAL)
            copies(server, "waiting", count - REAL, "run00000")
            listed = trio.run(lists, url)
            woken = {}
            for command, first in ((("host",), 0), (("worker", "--concurrency", "100"), REAL // 2)):
                with bench_host.hosting(home, *command) as (process, start):
                    memory = bench_host.resident_mib(process)
                    cpu = bench_host.cpu_percent(process, 10.0)
                    times = trio.run(bench_host.wake, home, range(first, first + REAL // 2), arrivals)
                woken[command[0]] = {
                    "wake_ms": spread(times[1:]),
                    "first_wake_ms": round(times[0], 1),
                    "memory_mib": memory,
                    "cpu_percent": cpu,
                    "start_s": start,
                }
    finally:
        del os.environ["REPLAN_JOURNAL"], os.environ["REPLAN_JOURNAL_DIRECT"]
    return {"runs": count, "list_ms": spread(listed["newest"]), "all_ms": spread(listed["all"]), "woken": woken}


async def lists(url):
    """Return the milliseconds of listing the newest waiting runs, and all of them, several times."""
    times = {"newest": [], "all": []}
    async with open_journal(url, CODEC, SystemClock()) as journal:
        for name, which, tries in (
            ("newest", RunFilter(status="waiting"), 30),
            ("all", RunFilter(status="waiting", limit=1_000_000), 3),
        ):
            for number in range(tries + 1):
                before = time.perf_counter()
                rows = await journal.runs(which)
                if number:
                    times[name].append((time.perf_counter() - before) * 1e3)
                assert len(rows) >= min(which.limit, REAL)
    return times


def memory(server):
    """Return the memory of a process that drives many runs at once, beside one that has driven a single run."""
    url, numbers = emptied(server, "memory"), Runs()
    worker = contestant(server, "replan", 0)
    together([worker], "replan", url, 1, numbers)
    alone = bench_host.resident_mib(worker.process)
    together([worker], "replan", url, DRIVEN, numbers)
    peak = bench_host.resident_mib(worker.process, "VmHWM")
    worker.close()
    return {"runs": DRIVEN, "one_mib": alone, "peak_mib": peak, "kib_per_run": round(1024 * (peak - alone) / DRIVEN)}


if __name__ == "__main__":
    main()
