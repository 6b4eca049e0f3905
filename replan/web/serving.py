"""Serving a home: the web server, and a host beside it, until a stop is requested."""

from collections.abc import Callable
from functools import partial

import trio

from replan.runs.cached import CachedReader
from replan.runs.engine import Engine
from replan.runs.orders import Offer
from replan.service.access import with_sign_in
from replan.service.driving import drive_runs
from replan.service.live import Hub
from replan.service.resuming import WAITING_MAX
from replan.service.store import Store, WebState
from replan.setup.home_folder import Home
from replan.setup.settings import UserConfig
from replan.web.app import make_app
from replan.web.server import HOST, bound, serve
from replan.web.site import Site
from runtime.core.errors import UsageProblem
from runtime.drive.options import Stop
from runtime.host.notices import Report
from runtime.process.identity import identity, is_dead


async def serve_home(
    engine: Engine,
    home: Home,
    config: UserConfig,
    *,
    port: int,
    hosts: bool,
    stop: Stop,
    report: Report,
    opened: Callable[[str], None],
) -> None:
    """Serve the pages of a home until a stop is requested; with `hosts`, also drive its runs.

    `opened` is called with the one-time address once the server listens. Raises `UsageProblem` for a port that cannot
    be used, and as `host` does.
    """
    listening = bound(port)
    port = listening.getsockname()[1]
    offer = Offer(config, home.folder, engine.root)
    store = Store(home.folder)
    hub = Hub(engine.journal)
    waiting, asked = trio.open_memory_channel[str](WAITING_MAX)
    reader = CachedReader(engine.journal, engine.kinds)
    site = Site(
        engine=engine,
        reader=reader,
        offer=offer,
        store=store,
        hub=hub,
        now=engine.clock.now,
        waiting=waiting if hosts else None,
        port=port,
        hosts=hosts,
    )
    address = f"http://{HOST}:{port}"
    try:
        token = await site.change(partial(_entered, address=address, now=site.now()))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hub.watch)
            opened(f"{address}/sign-in#{token}")
            async with trio.open_nursery() as both:
                both.start_soon(serve, make_app(site), listening, stop.requested.wait)
                both.start_soon(_end_streams, stop, site.stop)
                if hosts:
                    both.start_soon(partial(drive_runs, engine, config, asked, stop=stop, report=report))
            nursery.cancel_scope.cancel()
    finally:
        listening.close()
        waiting.close()
        asked.close()
        with trio.CancelScope(shield=True):
            await site.change(_left)


async def _end_streams(stop: Stop, streams: trio.Event) -> None:
    await stop.requested.wait()
    streams.set()


def _entered(state: WebState, *, address: str, now: float) -> tuple[WebState, str]:
    servers = {owner: known for owner, known in state.servers.items() if not is_dead(owner)}
    state, token = with_sign_in(state, now)
    return state.model_copy(update={"servers": {**servers, identity(): address}}), token


def _left(state: WebState) -> tuple[WebState, None]:
    servers = {owner: known for owner, known in state.servers.items() if owner != identity()}
    return state.model_copy(update={"servers": servers}), None


def sign_in_addresses(store: Store, now: float) -> list[str]:
    """Return a new one-time address for each server of a home. Raises `UsageProblem` where none runs."""
    servers = [known for owner, known in store.read().servers.items() if not is_dead(owner)]
    if not servers:
        raise UsageProblem("no server of this home is running", place="--sign-in", hint="start one: replan serve")
    return [f"{address}/sign-in#{store.change(partial(with_sign_in, now=now))}" for address in servers]
