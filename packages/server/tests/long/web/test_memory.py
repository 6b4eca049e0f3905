"""A server that many people use for long needs no more and more memory. `make soak` runs this for an hour."""

import os
import random
import re
import statistics
import subprocess
import sys
from contextlib import suppress
from functools import partial
from itertools import count, cycle
from pathlib import Path

import httpx2
import trio
import yaml

from packages.server.tests.web.world import ASKS
from replan.runs.home import open_home
from replan.runs.reader import ALL
from replan.setup.home_folder import locate_home
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_server.service.orders import Order, ServerOffer
from replan_server.web.run_page import LISTS
from runtime.core.errors import Held, JournalBusy
from tests.cli.samples import BACKTRACKS, PROBLEM, write_script
from tests.tidy.source import ROOT

FORM = r'action="(/questions/[^"]+)".*?name="version" value="(\w+)"'
SECONDS = float(os.environ.get("REPLAN_WEB_SECONDS", "3"))
"""How long people use the server."""
PEOPLE = 4
PAUSE_SECONDS = 0.05
"""How long a person looks at a page."""
RUNS_KEPT = 40
"""Finished runs of the home; older ones are deleted while the server runs."""
START_SECONDS = 0.2
"""How often a run is started."""
SERVE = """
from replan_server.service.cached_reader import CachedReader
CachedReader.__init__.__kwdefaults__["records_max"] = 500
from replan.cli import main
main()
"""
"""The server, which keeps fewer records in memory than usual, so that it soon keeps as many as it ever does."""
GROWTH_MAX_MIB = 40
"""How much memory may grow after the first third of the time. Garbage takes up to 30 MB before it is collected."""


async def test_memory_stays_flat_while_people_start_runs_answer_look_and_leave(tmp_path, record_property):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    scripts = {"asks": ASKS, "backtracks": BACKTRACKS}
    models = {name: write_script(tmp_path, script, f"{name}.yaml") for name, script in scripts.items()}
    config = UserConfig.model_validate({"clients": {"models": models}})
    (home / "config.yaml").write_text(yaml.safe_dump({"clients": {"models": models}}))
    output = tmp_path / "serve.log"  # A file, since a pipe that nobody reads would hold the server up.
    server = started(output)
    try:
        with trio.fail_after(300):
            while (found := re.search(r'"url": "([^"]+)"', output.read_text())) is None:  # noqa: ASYNC110 -- another process writes it
                await trio.sleep(0.1)
        address = found[1]
        sizes, requests = [], count()
        async with Person(address.partition("/sign-in")[0], requests) as first:
            await first.sign_in(address.partition("#")[2])
            with trio.move_on_after(SECONDS):
                async with trio.open_nursery() as nursery:
                    for number in range(PEOPLE):
                        nursery.start_soon(first.work, random.Random(number))
                    nursery.start_soon(first.come_and_go)
                    nursery.start_soon(begin_and_delete, config)
                    while True:
                        sizes.append(resident_mib(server))
                        await trio.sleep(min(1.0, SECONDS / 30))
        third = len(sizes) // 3
        begin, end = (statistics.median(part) for part in (sizes[third : 2 * third], sizes[2 * third :]))
        for name, value in ("requests", next(requests)), ("mib_second_third", begin), ("mib_last_third", end):
            record_property(name, value)
        print(f"{next(requests)} requests, {begin:.1f} MiB in the second third, {end:.1f} MiB in the last")
        assert end - begin < GROWTH_MAX_MIB, sizes
        assert server.poll() is None
    finally:
        server.terminate()
        await trio.to_thread.run_sync(partial(server.wait, timeout=30))


class Person:
    def __init__(self, address, requests):
        host = address.rpartition("/")[2]
        base, headers = f"http://127.0.0.1:{host.rpartition(':')[2]}", {"host": host}
        self._web = httpx2.AsyncClient(base_url=base, headers=headers, trust_env=False, timeout=60, verify=False)
        self._address, self._requests, self._csrf = address, requests, ""

    async def __aenter__(self):
        await self._web.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self._web.__aexit__(*error)

    async def sign_in(self, token):
        assert (await self._web.post("/sign-in", data={"token": token})).status_code == 303
        self._csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', await self.look("/"))[1]

    async def look(self, path):
        next(self._requests)
        answer = await self._web.get(path)
        assert answer.status_code in (200, 404, 422), (path, answer.status_code)
        return answer.text if answer.status_code == 200 else ""

    async def post(self, path, **fields):
        """Send a form; too many a minute are refused."""
        next(self._requests)
        answer = await self._web.post(path, data={"csrf": self._csrf, **fields}, headers={"origin": self._address})
        assert answer.status_code in (303, 404, 409, 422, 429), (path, answer.status_code, answer.text)
        return answer

    async def work(self, chance):
        """Answer, and look at pages, until this is cancelled."""
        while True:
            inbox, runs = await self.look("/"), await self.look("/runs")
            also = re.findall(r'name="also" value="([^"]+)"', inbox)  # All questions are equal, so there is one form.
            for form, version in re.findall(FORM, inbox, re.DOTALL):
                does = chance.choice(("answer", "decline"))
                await self.post(form, version=version, typed="3.12", do=does, also=also, back="/")
            for run in re.findall(r'href="/runs/(\w+)"', runs)[:8]:
                await self.look(f"/runs/{run}?tab={chance.choice([*LISTS])}")
                await self.look(f"/runs/{run}/records?after={chance.randrange(30)}")
                await self.look(f"/runs/{run}/attempts/g_plan/v1.a1")
                await self.look(f"/runs/{run}/export/markdown")
                await trio.sleep(PAUSE_SECONDS)

    async def come_and_go(self):
        """Open streams and leave them, until this is cancelled."""
        while True:
            with trio.move_on_after(0.5):
                async with self._web.stream("GET", "/live") as stream:
                    async for _ in stream.aiter_lines():
                        pass


async def begin_and_delete(config):
    """Start runs, and delete those that have finished, beyond the newest ones, until this is cancelled."""
    async with open_home(config=config, registry=registry()) as engine:
        offer = ServerOffer(config, locate_home().folder, engine.root)
        for model in cycle(("asks", "backtracks")):
            await engine.admit(offer.prepare(Order(PROBLEM, model=model), engine.registry).request)
            rows = [row for row in await engine.journal.runs(ALL) if row.summary.status == "finished"]
            with suppress(Held, JournalBusy):  # The server may be leaving one of them, or writing: then the next time.
                await engine.journal.delete({row.run: row.last_seq for row in rows[RUNS_KEPT:]})
            await trio.sleep(START_SECONDS)


def started(output):
    command = [sys.executable, "-c", SERVE, "serve", "--port", "0", "--json"]
    with output.open("w") as file:
        return subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=file, stderr=subprocess.DEVNULL)


def resident_mib(process):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) / 1024
