"""`serve`: serves the home to browsers and programs on this machine, and drives its runs."""

import json
import sys
import time
from typing import IO, NamedTuple, cast

import click
import trio

from actors.files.suggestions import nearest
from actors.values.format import clock, stamp
from replan.cli.exits import Exit
from replan.cli.health import watched
from replan.cli.home import opened
from replan.cli.host_notices import reporter, watch_signals
from replan.cli.options import Invocation
from replan.cli.terminal.console import Lossy
from replan.service.access import SIGN_IN_SECONDS
from replan.service.store import Store
from replan.setup.gc_tuning import tune
from replan.setup.home_folder import locate_home, prepare_home
from replan.setup.proxy import ProxyEntry
from replan.setup.settings import UserConfig, read_user_config
from replan.web.serving import serve_home, sign_in_addresses
from runtime.core.errors import UsageProblem
from runtime.drive.options import Stop
from runtime.host.notices import Stopped


class Wish(NamedTuple):
    """Where and how a home is served."""

    port: int
    """The port; 0 takes a free one."""
    listen: str
    """The address that the server listens on."""
    proxy: str | None
    """The name of the proxy in the settings; None for none."""
    hosts: bool
    """Whether the server drives runs."""
    allow_execute: bool
    """Whether clients may execute plans."""
    health: int | None
    """The port of the health endpoints beside those on `port`; None for none."""


def serve_page(invocation: Invocation, wish: Wish, *, as_json: bool) -> int:
    """Serve the home until a signal asks to stop. Return the exit code."""
    tune()
    return trio.run(_serve, invocation, wish, as_json)


def print_sign_in(*, as_json: bool) -> int:
    """Print a new one-time address of each server of the home. Return the exit code."""
    home = prepare_home()
    for address in sign_in_addresses(Store(home.folder), time.time()):
        _print_address(address, as_json=as_json)
    return Exit.OK


async def _serve(invocation: Invocation, wish: Wish, as_json: bool) -> int:
    stop, report = Stop(handover=True), reporter(as_json=as_json)
    async with opened(invocation, make=True, drives=True) as engine:
        home = locate_home()
        config = read_user_config(home.config)

        proxy = None if wish.proxy is None else _proxy(wish.proxy, config)

        def announce(address: str) -> None:
            if proxy is None:
                _print_address(address, as_json=as_json)
            else:
                _print_public(address, str(wish.proxy), as_json=as_json)

        async with trio.open_nursery() as nursery:
            await nursery.start(watch_signals, stop, report)
            heard = watched(engine, stop, report, wish.health, nursery, serving=not wish.hosts)
            await serve_home(
                engine,
                home,
                config,
                port=wish.port,
                listen=wish.listen,
                proxy=proxy,
                hosts=wish.hosts,
                allow_execute=wish.allow_execute,
                stop=stop,
                report=heard,
                opened=announce,
            )
            nursery.cancel_scope.cancel()
    report(Stopped())
    return Exit.OK


def _proxy(name: str, config: UserConfig) -> ProxyEntry:
    if name not in config.proxies:
        hint = nearest(name, config.proxies, kind="proxies") or "describe it under proxies in config.yaml"
        raise UsageProblem(f"there is no proxy {name[:60]!r} in config.yaml", place="--proxy", hint=hint)
    return config.proxies[name]


def _print_public(address: str, proxy: str, *, as_json: bool) -> None:
    fields = {"at": stamp(time.time()), "event": "behind_proxy", "url": address, "proxy": proxy}
    text = json.dumps(fields) if as_json else f"behind the proxy {proxy}: {address}"
    click.echo(text, file=cast("IO[str]", Lossy(sys.stdout)))


def _print_address(address: str, *, as_json: bool) -> None:
    until = time.time() + SIGN_IN_SECONDS
    fields = {"at": stamp(time.time()), "event": "sign_in", "url": address, "until": stamp(until)}
    text = json.dumps(fields) if as_json else f"open once, before {clock(until)}: {address}"
    click.echo(text, file=cast("IO[str]", Lossy(sys.stdout)))
