"""Runs the web server of a home, and a host that drives the runs of the home, until a stop is requested."""

import ipaddress
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

import trio

from replan.runs.engine import Engine
from replan.setup.home_folder import Home
from replan.setup.settings import settings_of
from replan_server.service.access import with_sign_in
from replan_server.service.cached_reader import CachedReader
from replan_server.service.live import Hub
from replan_server.service.orders import ServerOffer
from replan_server.service.service import WAITING_MAX, drive_runs
from replan_server.service.store import Store, WebState
from replan_server.settings import ProxyEntry, ServerSettings
from replan_server.web.app import make_app
from replan_server.web.health import Health, serve_health
from replan_server.web.rendering import compile_templates
from replan_server.web.server import HOST, bind_socket, serve
from replan_server.web.site import Site, new_name, with_key
from runtime.core.errors import UsageProblem
from runtime.drive.options import Stop
from runtime.host.notices import Report
from runtime.journal.port import Placement
from runtime.process.identity import identity, is_dead


async def serve_home(
    engine: Engine,
    home: Home,
    *,
    port: int,
    hosts: bool,
    proxy: ProxyEntry | None = None,
    listen: str = HOST,
    allow_execute: bool = False,
    health_port: int | None = None,
    stop: Stop,
    report: Report,
    opened: Callable[[str], None],
) -> None:
    """Serve the pages of a home until a stop is requested. With `hosts`, also drive the runs of the home.

    When the server listens, `opened` is called with the public address of the `proxy`, or with a one-time sign-in
    address if there is no proxy. Without a proxy, `listen` must be the loopback address. With a `health_port`, health
    checks are also answered on this port. Raises `UsageProblem` for an address that cannot be used, and the errors of
    `drive_runs`.
    """
    check_listen(listen, proxy)
    listening = bind_socket(port, listen)
    port = listening.getsockname()[1]
    store, hub = Store(home.folder), Hub(engine.journal)
    waiting, requests = trio.open_memory_channel[str](WAITING_MAX)
    reader = CachedReader(engine.journal, engine.kinds)
    # A host that takes up a run that people look at need not read it again.
    engine = replace(engine, cache=reader, placement=Placement(engine.config.clients.tenant))
    site = Site(
        engine=engine,
        reader=reader,
        offer=ServerOffer(engine.config, home.folder, engine.root),
        store=store,
        hub=hub,
        now=engine.clock.now,
        waiting=waiting if hosts else None,
        port=port,
        name=new_name(),
        hosts=hosts,
        allow_execute=allow_execute,
        proxy=proxy,
        answering=settings_of(engine.config, ServerSettings).answering,
        form_key="" if proxy is None else await trio.to_thread.run_sync(store.change, with_key),
    )
    health = Health(engine.journal, stop.requested.is_set, serving=not hosts)
    report, address = health.report_to(report), f"http://{site.name}:{port}"
    trusted = None if proxy is None else proxy.trusts
    try:
        announced = await _enter(site, address) if proxy is None else proxy.origin
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hub.watch)
            if health_port is not None:
                socket = bind_socket(health_port, option="--health-port")
                nursery.start_soon(serve_health, health, socket, trio.sleep_forever)
            opened(announced)
            nursery.start_soon(trio.to_thread.run_sync, _prepare_pages, reader)
            async with trio.open_nursery() as both:
                both.start_soon(serve, make_app(site, health), listening, stop.requested.wait, trusted)
                both.start_soon(_end_streams, stop, site.stop)
                if hosts:
                    both.start_soon(partial(drive_runs, engine, requests, stop=stop, report=report))
            nursery.cancel_scope.cancel()
    finally:
        listening.close()
        waiting.close()
        requests.close()
        with trio.CancelScope(shield=True):
            await site.change(_leave)


def check_listen(listen: str, proxy: ProxyEntry | None) -> None:
    """Raise `UsageProblem` if `listen` is not an IP address. Without a proxy, raise it for any address but `HOST`."""
    try:
        address = ipaddress.ip_address(listen)
    except ValueError:
        raise UsageProblem(f"{listen[:60]!r} is not an IP address", place="--listen", hint="such as 10.0.0.7") from None
    if proxy is None and listen != HOST:
        hint = "describe the proxy under `proxies` in config.yaml, and name it with --proxy"
        cause = "other machines can connect only through a proxy that authenticates users"
        if address.is_loopback:
            cause, hint = f"without a proxy, the address must be {HOST}", "remove --listen"
        raise UsageProblem(cause, place="--listen", hint=hint)


def _prepare_pages(reader: CachedReader) -> None:
    compile_templates()
    for _ in reader.kinds.usable():
        pass


async def _end_streams(stop: Stop, streams: trio.Event) -> None:
    await stop.requested.wait()
    streams.set()


async def _enter(site: Site, address: str) -> str:
    token = await site.change(partial(_with_server, address=address, now=site.now()))
    return f"{address}/sign-in#{token}"


def _with_server(state: WebState, *, address: str, now: float) -> tuple[WebState, str]:
    servers = {owner: known for owner, known in state.servers.items() if not is_dead(owner)}
    state, token = with_sign_in(state, _name_in(address), now)
    return state.model_copy(update={"servers": {**servers, identity(): address}}), token


def _leave(state: WebState) -> tuple[WebState, None]:
    servers = {owner: known for owner, known in state.servers.items() if owner != identity()}
    return state.model_copy(update={"servers": servers}), None


def sign_in_addresses(store: Store, now: float) -> list[str]:
    """Return a new one-time sign-in address for each server of a home. Raises `UsageProblem` if none runs."""
    servers = [known for owner, known in store.read().servers.items() if not is_dead(owner)]
    if not servers:
        raise UsageProblem("no server of this home is running", place="--sign-in", hint="start a server: replan serve")
    return [
        f"{address}/sign-in#{store.change(partial(with_sign_in, server=_name_in(address), now=now))}"
        for address in servers
    ]


def _name_in(address: str) -> str:
    return urlsplit(address).hostname or ""
