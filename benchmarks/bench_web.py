"""Speed of the web page in a real browser, and what many clients of one stream cost the server.

    python benchmarks/bench_web.py [--runs N] [--records N] [--loads N] [--events N] [--clients N] [--steps N] [--long]

Creates a home with N runs, of which two have N records each, and serves it by `replan serve`. Needs Chromium.

- A page's time is that from the beginning of its navigation to its first contentful paint, as the browser reports it,
  in a window of 1100 x 900 points and without a graphics card. Each page is loaded once before.
- The first page of a long run is the first one that the server makes after its start, of a home in which the search has
  2,000 attempts and the execution 2,000 steps; its size is that of the page's text. It is whole when the browser has
  read all of it: the server sends its beginning before it has read the run. `--long` measures only this.
- An event's time is that from its commit, in another process, until the browser has it on the open page: a note is
  posted to a run that waits, and the page shows it.
- The clients of one stream get the records of one run over the HTTP API while another process drives it, N steps of
  generate and judge. A client's time for a record is that from the record's commit until the client has it. Each client
  has to get every record once and in order.

Prints tables, writes results/web.json. Linux only: it reads /proc, and clients connect from several loopback addresses,
since the server takes only so many connections of one.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import trio
from common import HERE, SCRATCH, commit, machine, spread, spread_text, table, today, verdict, versions, write

ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from bench_host import cpu_seconds, resident_mib  # noqa: E402

from benchmarks.web_home import EXECUTION, SEARCH, engine_of, environment, fill, live_run  # noqa: E402
from packages.server.tests.long.web.chromium import chromium, find_chromium  # noqa: E402
from replan_server.service.access import with_token  # noqa: E402
from replan_server.service.limits import STREAMS_MAX  # noqa: E402
from replan_server.service.store import Store  # noqa: E402

GOALS = {"paint_ms": 300, "event_ms": 200}
LONG = {"records": 10_000, "first_ms": 1000, "mib": 5}
"""The records of the long runs whose first page is measured, five for each attempt or step, and the goals for it."""
CLIENTS_OF_ADDRESS = 50
"""Clients that connect from one address; the server takes 64 connections of each."""
IDLE_SECONDS = 5.0
ASKING = "run00004"
"""A short run that waits for an answer."""
PAGES = {
    "inbox": "/",
    "runs": "/runs",
    "runs, the last page": "/runs?page=9",
    "start a run": "/new",
    "a short run": "/runs/run00001",
    "the long search": f"/runs/{SEARCH}",
    "the long search, from its beginning": f"/runs/{SEARCH}?tab=search&tree=0",
    "the long execution": f"/runs/{EXECUTION}",
    "records of the search, from 4,900": f"/runs/{SEARCH}/records?after=4900#record-4950",
    "records of the search, the last page": f"/runs/{SEARCH}/records?after=5000",
    "records of the execution, from 4,900": f"/runs/{EXECUTION}/records?after=4900#record-4950",
    "an attempt of the long search": f"/runs/{SEARCH}/attempts/g_plan/v1.a1",
    "a question": f"/questions/{ASKING}/q1",
}
EVENT_PAGES = {"a short run": ASKING, "the long search": SEARCH}
"""The pages on which an event is waited for, and their runs."""
PAINTED = """new Promise(done => {
  const look = () => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    if (paint) done(paint.startTime); else setTimeout(look, 5);
  };
  look();
})"""
WATCH = """window.seen = new Promise(done => {
  const look = () => document.body.textContent.includes(TEXT) && done(performance.timeOrigin + performance.now());
  new MutationObserver(look).observe(document.body, {childList: true, subtree: true, characterData: true});
}); 0"""
"""Notes when a text comes onto the page, in milliseconds since 1970."""


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000, help="runs of the home (1,000)")
    parser.add_argument("--records", type=int, default=5_000, help="records of the long runs (5,000)")
    parser.add_argument("--loads", type=int, default=20, help="loads of each page (20)")
    parser.add_argument("--events", type=int, default=20, help="events on each page (20)")
    parser.add_argument("--clients", type=int, default=200, help="clients of one stream (200)")
    parser.add_argument("--steps", type=int, default=100, help="steps of the run that they follow (100)")
    parser.add_argument("--long", action="store_true", help="measure only the first page of long runs")
    options = parser.parse_args()
    if find_chromium() is None:
        sys.exit("Chromium is needed: apt-get install chromium")
    SCRATCH.mkdir(exist_ok=True)
    facts = {"commit": commit(), "date": today(), "machine": machine()}
    long = {**facts, **first_pages()}
    if options.long:
        results = {**json.loads((HERE / "results" / "web.json").read_text()), "long": long}
        print(tables(results))
        write("web", results)
        return
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        home = Path(folder) / "home"
        trio.run(partial(fill, home, runs=options.runs, records=options.records))
        with serving(home) as (process, address):
            pages = trio.run(measure_pages, home, process, address, options)
        with serving(home, "--no-host") as (process, address):
            streams = trio.run(measure_streams, home, process, address.partition("/sign-in")[0], options)
    results = {
        **facts,
        "versions": {
            **versions(sys.executable, "trio", "hypercorn", "starlette", "jinja2"),
            "chromium": chromium_version(),
        },
        "runs": options.runs,
        "records": options.records,
        "loads": options.loads,
        **pages,
        "long": long,
        "streams": streams,
        "goals": GOALS,
    }
    print(tables(results))
    write("web", results)


def tables(results):
    """Return the results as Markdown."""
    goals, streams, memory = results["goals"], results["streams"], results["memory_mib"]
    rows = [
        (name, spread_text(times), verdict(times["median"], goals["paint_ms"]))
        for name, times in results["paint_ms"].items()
    ]
    paints = table(("page", "ms to the first contentful paint", "goal"), rows)
    rows = [
        (name, spread_text(times), verdict(times["median"], goals["event_ms"]))
        for name, times in results["event_ms"].items()
    ]
    events = table(("page", "ms from the commit", "goal"), rows)
    rows = [
        ("ms from the commit to a client, median", f"{streams['ms']['median']:g}"),
        ("the same, 99th percentile", f"{streams['ms']['p99']:g}"),
        ("events to all clients per second", f"{streams['events_per_second']:,.0f}"),
        ("ms of processor time for an event to a client", f"{streams['cpu_ms_per_event']:g}"),
        ("processor while nothing happens, percent of a core", f"{streams['idle_cpu_percent']:g}"),
        ("memory for a client, KiB", f"{streams['kib_per_client']:g}"),
    ]
    many = table((f"{streams['clients']} clients, {streams['records']} records each", "measured"), rows)
    long = results["long"]
    first, most = f"page of a run with {long['attempts']:,} of them", LONG["first_ms"]
    long_rows = [
        (
            f"{name}{when}",
            spread_text(each[key]),
            spread_text(each[f"whole_{key}"]),
            f"{each['mib']:.2f}",
            verdict(each[key]["median"], most),
        )
        for name, each in long["pages"].items()
        for key, when in (("ms", ", after the server's start"), ("again_ms", ", again"))
    ]
    goal = f"goal of the first paint, and at most {LONG['mib']} MiB"
    longest = table((first, "ms to its first paint", "ms until it is whole", "MiB", goal), long_rows)
    return (
        f"Pages of a home of {results['runs']:,} runs, two of them with {results['records']:,} records, "
        f"{results['loads']} loads each:\n\n{paints}\n\n{longest}\n\n"
        f"Measured on {long['date']} at commit {long['commit']}, load {long['machine']['load_before']:g}.\n\n"
        f"An event on an open page:\n\n{events}\n\n"
        f"One stream with many clients:\n\n{many}\n\n"
        f"The server takes {memory['at the start']:g} MiB of memory at its start, and "
        f"{memory['after all pages']:g} MiB when all these pages have been looked at."
    )


def first_pages():
    """Return the times and the size of the first page that a server makes of each long run, once after each start."""
    found = {"attempts": SEARCH, "steps": EXECUTION}
    times = ("ms", "whole_ms", "again_ms", "whole_again_ms")
    pages = {name: {**{key: [] for key in times}, "mib": 0.0} for name in found}
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        home = Path(folder) / "home"
        trio.run(partial(fill, home, runs=5, records=LONG["records"]))
        for name, run in found.items():
            for _ in range(5):
                with serving(home, "--no-host") as (_, address):
                    *measured, size = trio.run(first_page, address, run)
                for key, value in zip(times, measured, strict=True):
                    pages[name][key].append(value)
                pages[name]["mib"] = round(size / 2**20, 3)
    for each in pages.values():
        each |= {key: spread(each[key]) for key in times}
    return {"attempts": LONG["records"] // 5, "pages": pages}


async def first_page(address, run):
    """Return the milliseconds to the first contentful paint of a run's page and to its end, those again, its bytes."""
    async with chromium() as browser:
        page = await browser.page()
        await page.go(address)
        await page.until("location.pathname === '/'")
        place, times = f"{address.partition('/sign-in')[0]}/runs/{run}", []
        for _ in range(2):
            await page.call("Page.navigate", url="about:blank")
            await page.go(place)
            whole = await page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
            times += [await page.evaluate(PAINTED), round(whole)]
        return *times, await page.evaluate("performance.getEntriesByType('navigation')[0].decodedBodySize")


async def measure_pages(home, process, address, options):
    """Return what a browser measures of one served home."""
    begin = resident_mib(process)
    base = address.partition("/sign-in")[0]
    async with chromium() as browser:
        page = await browser.page()
        await page.go(address)
        await page.until("location.pathname === '/'")
        paints = {name: await paint_times(page, f"{base}{path}", options.loads) for name, path in PAGES.items()}
        async with engine_of(home) as engine:
            events = {
                name: await event_times(page, f"{base}/runs/{run}", engine, run, options.events)
                for name, run in EVENT_PAGES.items()
            }
    return {
        "paint_ms": {name: spread(values) for name, values in paints.items()},
        "event_ms": {name: spread(values) for name, values in events.items()},
        "memory_mib": {"at the start": begin, "after all pages": resident_mib(process)},
    }


async def paint_times(page, address, loads):
    """Return the milliseconds to the first contentful paint of some loads, after one that does not count."""
    times = []
    for _ in range(loads + 1):
        await page.call("Page.navigate", url="about:blank")
        await page.go(address)
        times.append(await page.evaluate(PAINTED))
    return times[1:]


async def event_times(page, address, engine, run, events):
    """Return the milliseconds from the commit of a note to its appearance on the open page."""
    await page.go(address)
    times = []
    for number in range(events + 1):
        await trio.sleep(1.0)  # Until the host has taken up the last one, and the page rests.
        text = f"note {number} of the measurement"
        await page.evaluate(WATCH.replace("TEXT", json.dumps(text)))
        await engine.tell(run, text)
        committed = time.time() * 1000
        times.append(await page.evaluate("window.seen") - committed)
    return times[1:]


async def measure_streams(home, process, base, options):
    """Return what many clients of one stream get, and what they cost the server."""
    count = options.clients
    names = [f"client-{number}" for number in range(-(-count // STREAMS_MAX))]
    store = Store(home)
    tokens = [store.change(partial(with_token, name=name, scope="read", now=time.time())) for name in names]
    port, before = int(base.rpartition(":")[2]), resident_mib(process)
    clients = [Client(tokens[number // STREAMS_MAX], number) for number in range(count)]
    async with engine_of(home) as engine:
        run, drive = await live_run(engine, home.parent, options.steps)
        async with trio.open_nursery() as nursery:
            for client in clients:
                await nursery.start(client.follow, port, run)
            memory = resident_mib(process)
            idle = cpu_seconds(process)
            await trio.sleep(IDLE_SECONDS)
            busy = cpu_seconds(process)
            idle_percent = 100 * (busy - idle) / IDLE_SECONDS
            begun = time.perf_counter()
            await drive()
            records = await engine.journal.read(run)
            with trio.fail_after(60):
                for client in clients:
                    await client.has(records[-1].seq)
            seconds, spent = time.perf_counter() - begun, cpu_seconds(process) - busy
            nursery.cancel_scope.cancel()
    wanted = [record.seq for record in records]
    assert all([seq for seq, _ in client.got] == wanted for client in clients), "a client has missed a record"
    committed = {record.seq: record.at for record in records[1:]}
    times = [1000 * (at - committed[seq]) for client in clients for seq, at in client.got if seq in committed]
    return {
        "clients": count,
        "records": len(wanted),
        "ms": {"median": round(statistics.median(times), 1), "p99": round(statistics.quantiles(times, n=100)[98], 1)},
        "events_per_second": round(len(times) / seconds),
        "cpu_ms_per_event": round(1000 * spent / len(times), 4),
        "idle_cpu_percent": round(idle_percent, 2),
        "kib_per_client": round(1024 * (memory - before) / count),
    }


class Client:
    """A client of a stream: `got` has the number of each record and the time at which it came."""

    def __init__(self, token, number):
        self.got, self._token, self._more = [], token, trio.Event()
        self._address = f"127.0.0.{2 + number // CLIENTS_OF_ADDRESS}"

    async def follow(self, port, run, *, task_status):
        """Read the stream of a run until this is cancelled; has started once its first record has come."""
        stream = await trio.open_tcp_stream("127.0.0.1", port, local_address=self._address)
        async with stream:
            head = (
                f"GET /api/runs/{run}/stream HTTP/1.1",
                f"Host: 127.0.0.1:{port}",
                f"Authorization: Bearer {self._token}",
            )
            await stream.send_all("\r\n".join([*head, "", ""]).encode())
            rest = b""
            async for data in stream:
                *whole, rest = (rest + data).split(b"\n")
                now = time.time()
                found = [int(line.rpartition(b":")[2]) for line in whole if line.startswith(b"id: ")]
                self.got += [(seq, now) for seq in found]
                if found:
                    self._more.set()
                    self._more = trio.Event()
                    task_status.started()
                    task_status = trio.TASK_STATUS_IGNORED

    async def has(self, seq):
        """Wait until a record has come."""
        while self.got[-1][0] < seq:
            await self._more.wait()


@contextmanager
def serving(home, *options):
    """Serve a home; yield the server's process, and the address at which a browser signs in."""
    command = [sys.executable, "-m", "replan", "serve", "--port", "0", "--json", *options]
    pipes = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
        "env": environment(home),
        "cwd": ROOT,
        "text": True,
    }
    with subprocess.Popen(command, **pipes) as process:
        address = re.search(r'"url": "([^"]+)"', process.stdout.readline())[1]
        drain = threading.Thread(target=process.stdout.read)  # A pipe that nobody reads would hold the server up.
        drain.start()
        try:
            yield process, address
        finally:
            process.terminate()
            process.wait(timeout=30)
            drain.join()


def chromium_version():
    """Return the version of the browser."""
    answer = subprocess.run([find_chromium(), "--version"], capture_output=True, text=True, check=True)
    return answer.stdout.split()[1]


if __name__ == "__main__":
    main()
