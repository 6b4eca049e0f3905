"""Speed of the web page in a real browser, and what 200 clients of one stream cost.

    python benchmarks/bench_web.py [--runs N] [--records N] [--loads N] [--events N] [--clients N]

Creates a home with N runs, of which two have N records each, and serves it by `replan serve`. Needs Chromium.

- A page's time is that from the beginning of its navigation to its first contentful paint, as the browser reports it
  (`PerformancePaintTiming`), in a window of 1100 x 900 points without a graphics card. Each page is loaded once before.
- An event's time is that from its commit, in another process, until the browser has put it on the open page. A message
  is posted to the run; the page shows it.
- The clients of one stream read the records of one run over the HTTP API while it is driven in another process. Each
  checks that it has got every record once and in order.

Prints tables, writes results/web.json. Linux only: it reads /proc.
"""

import argparse
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import httpx2
import trio
from common import HERE, SCRATCH, commit, machine, spread, spread_text, table, today, verdict, versions, write

ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from benchmarks.web_home import EXECUTION, SEARCH, engine_of, environment, fill, live_run  # noqa: E402
from replan.web.access import with_token  # noqa: E402
from replan.web.limits import STREAMS_MAX  # noqa: E402
from replan.web.server import CONNECTIONS_MAX  # noqa: E402
from replan.web.store import Store  # noqa: E402
from tests.web.chromium import chromium, find_chromium  # noqa: E402

GOALS = {"paint_ms": 300, "event_ms": 200}
PAGES = {
    "inbox": "/",
    "runs": "/runs",
    "runs, the last page": "/runs?page=9",
    "start a run": "/new",
    "a short run": "/runs/run00001",
    "the long search": f"/runs/{SEARCH}",
    "the long execution": f"/runs/{EXECUTION}",
    "records of the search, from 4,900": f"/runs/{SEARCH}/records?after=4900#record-4900",
    "records of the search, the last page": f"/runs/{SEARCH}/records?after=5000",
    "records of the execution, from 4,900": f"/runs/{EXECUTION}/records?after=4900#record-4900",
    "an attempt of the long search": f"/runs/{SEARCH}/attempts/g_plan/v1.a1",
    "a question": "/questions/run00004/q1",
}
PAINTED = """new Promise(done => {
  const found = () => performance.getEntriesByName("first-contentful-paint")[0];
  const look = () => found() ? done(found().startTime) : setTimeout(look, 2);
  look();
})"""
SEEN = """new Promise(done => {
  const look = () => document.body.innerText.includes(TEXT) && (done(performance.timeOrigin + performance.now()), true);
  if (look()) return;
  const observer = new MutationObserver(() => look() && observer.disconnect());
  observer.observe(document.body, {childList: true, subtree: true, characterData: true});
})"""
"""Tells when a text has come onto the page, in milliseconds since 1970."""


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000, help="runs of the home (1,000)")
    parser.add_argument("--records", type=int, default=5_000, help="records of the long runs (5,000)")
    parser.add_argument("--loads", type=int, default=20, help="loads of each page (20)")
    parser.add_argument("--events", type=int, default=20, help="events on each page (20)")
    parser.add_argument("--clients", type=int, default=200, help="clients of one stream (200)")
    options = parser.parse_args()
    if find_chromium() is None:
        sys.exit("Chromium is needed: apt-get install chromium")
    SCRATCH.mkdir(exist_ok=True)
    machine_facts = machine()
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        home = Path(folder) / "home"
        trio.run(partial(fill, home, runs=options.runs, records=options.records))
        with serving(home) as (process, address):
            measured = trio.run(measure, home, process, address, options)
    results = {
        "commit": commit(),
        "date": today(),
        "machine": machine_facts,
        "versions": {**versions(sys.executable, "trio", "hypercorn", "starlette", "jinja2"), "chromium": browser_version()},
        "runs": options.runs,
        "records": options.records,
        "loads": options.loads,
        **measured,
        "goals": GOALS,
    }
    results = json.loads(json.dumps(results))  # With the keys that the file has.
    print(tables(results))
    write("web", results)


async def measure(home, process, address, options):
    """Return all measurements of one served home."""
    empty = resident_mib(process)
    base, _, token = address.partition("/sign-in#")
    async with chromium() as browser:
        page = await browser.page()
        await page.go(f"{base}/sign-in#{token}")
        await page.until("location.pathname === '/'")
        paints = {name: await paint_times(page, f"{base}{path}", options.loads) for name, path in PAGES.items()}
        async with engine_of(home) as engine:
            events = {
                name: await event_times(page, f"{base}{PAGES[name]}", engine, run, options.events)
                for name, run in (("a short run", "run00004"), ("the long search", SEARCH))
            }
    after_pages = resident_mib(process)
    return {
        "paint_ms": {name: spread(values) for name, values in paints.items()},
        "event_ms": {name: spread(values) for name, values in events.items()},
        "memory_mib": {"at the start": empty, "after all pages": after_pages},
    }


async def paint_times(page, address, loads):
    """Return the milliseconds to the first contentful paint, for each load after a first one."""
    times = []
    for number in range(loads + 1):
        await page.go("about:blank", wait=False)
        await page.go(address)
        paint = await page.evaluate(PAINTED)
        if number:
            times.append(paint)
    return times
