"""A home that is served by the real server on a free port, and clients for it."""

import os
import re
import secrets
import socket
from contextlib import asynccontextmanager, suppress

import httpx2
import trio

from replan.runs.home import open_home
from replan.runs.reader import ALL
from replan.setup.home_folder import locate_home
from replan.setup.plugins import registry
from replan.setup.settings import config_model
from replan_server.service.access import with_sign_in, with_token
from replan_server.service.orders import Order, ServerOffer
from replan_server.service.store import Store
from replan_server.web.run_page import LISTS
from replan_server.web.serving import serve_home
from runtime.drive.options import Stop
from tests.cli.samples import ANALYSIS, ASKING, PLAN, PROBLEM, RECON, STRATEGY, write_script
from tests.support.receiver import free_port

PLANS = {"g_analysis": [ANALYSIS] * 2, "g_recon": [RECON] * 2, "g_strategy": [STRATEGY] * 2, "g_plan": [PLAN] * 2}
"""A script that plans without a question. It is short, since each run reads it."""
ASKS = {**PLANS, "g_analysis": [ASKING, ANALYSIS, ANALYSIS]}
"""A script that asks one question first."""
SETTLED = ("finished", "waiting", "parked")


class World:
    """One served home. `client` has no session; `browser` has one."""

    def __init__(self, engine, address, sign_in, config, stop):
        self.engine, self.address, self.config, self.stop = engine, address, config, stop
        self.host = address.rpartition("/")[2]
        self.name, self.port = self.host.partition(":")[0], int(self.host.rpartition(":")[2])
        self.loopback = f"http://127.0.0.1:{self.port}"
        self.sign_in_token = sign_in.partition("#")[2]
        # Without `verify=False` each client would load the certificates of all authorities, for plain HTTP.
        # Browsers find the name below `localhost` by themselves; this client connects to what they find.
        options = {"base_url": self.loopback, "headers": {"host": self.host}, "trust_env": False, "timeout": 60}
        self.client = httpx2.AsyncClient(**options, verify=False)
        self.browser = httpx2.AsyncClient(**options, verify=False)
        self.store = Store(locate_home().folder)
        self.csrf = ""

    async def sign_in(self):
        """Begin the browser's session."""
        answer = await self.browser.post("/sign-in", data={"token": self.sign_in_token})
        assert answer.status_code == 303, answer.text
        self.csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', (await self.browser.get("/")).text)[1]

    def new_sign_in(self):
        """Return a new one-time token for this server."""
        return self.store.change(lambda state: with_sign_in(state, self.name, self.engine.clock.now()))

    async def post(self, path, fields=None, **extra):
        """Send a form with the session's token, as a browser does."""
        data = {"csrf": self.csrf, "idempotency_key": secrets.token_hex(), **(fields or {})}
        return await self.browser.post(path, data=data, headers={"origin": self.address}, **extra)

    def token(self, scope="control", name=None):
        """Return the headers of a program with a new token."""
        token = self.store.change(lambda state: with_token(state, name or scope, scope, 0.0))
        return {"authorization": f"Bearer {token}"}

    async def start(self, model="asks", problem=PROBLEM, **options):
        """Start a run, and return its id once it has settled where a host drives it."""
        offer = ServerOffer(self.config, locate_home().folder, self.engine.root)
        prepared = offer.prepare(Order(problem, model=model, **options), self.engine.registry)
        return await self.engine.admit(prepared.request)

    async def run_page(self, run):
        """Return the page of a run, one tab after the other."""
        return "".join([(await self.browser.get(f"/runs/{run}?tab={tab}")).text for tab in LISTS])

    async def reader_rows(self):
        return await self.engine.rows(ALL)

    async def settled(self, run, *statuses):
        """Return a run's result once it has one of some statuses."""
        with trio.fail_after(300):
            while True:
                result = await self.engine.result(run)
                if result.status in (statuses or SETTLED):
                    return result
                await trio.sleep(0.02)


@asynccontextmanager
async def served(
    folder,
    *,
    hosts=True,
    scripts=None,
    signed_in=True,
    port=0,
    proxy=None,
    allow_execute=False,
    webhooks=None,
    settings=None,
    **clients,
):
    """Serve a home for the length of a block, with models by the names of their scripts."""
    models = {"exact": "quoting:"} | {
        name: write_script(folder, script, f"{name}.yaml")
        for name, script in {"asks": ASKS, "plans": PLANS, **(scripts or {})}.items()
    }
    value = {
        "model": "template:bug",
        "clients": {"models": models, **clients},
        "webhooks": webhooks or {},
        **(settings or {}),
    }
    config = config_model(value).model_validate(value)
    stop, opened, is_open = Stop(handover=True), [], trio.Event()
    listening_port = port if proxy is None else free_port()

    def open_at(address):
        opened.append(address)
        is_open.set()

    async with open_home(config=config, registry=registry()) as engine, trio.open_nursery() as nursery:

        async def serve():
            options = {"allow_execute": allow_execute, "stop": stop, "report": lambda _: None, "opened": open_at}
            await serve_home(engine, locate_home(), port=listening_port, hosts=hosts, proxy=proxy, **options)

        nursery.start_soon(serve)
        with trio.fail_after(300):
            await is_open.wait()
        address = opened[0].partition("/sign-in")[0] if proxy is None else f"http://127.0.0.1:{listening_port}"
        world = World(engine, address, opened[0], config, stop)
        async with world.client, world.browser:
            if signed_in and proxy is None:
                await world.sign_in()
            yield world
        stop.requested.set()
        stop.forced.set()


def lasting_port():
    """Return a port that nobody listens on and no outgoing connection gets, for a server that is started again."""
    while True:
        number = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", number))
            return number


def use_home(folder, monkeypatch):
    """Use a home of the test's own."""
    monkeypatch.setenv("REPLAN_HOME", str(folder / "home"))
    os.environ.pop("REPLAN_MODEL", None)
