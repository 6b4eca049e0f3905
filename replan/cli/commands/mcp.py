"""`mcp`: serves the home to a program that speaks the Model Context Protocol, and drives its runs."""

import json
import sys
import time
from typing import IO, cast

import click
import trio

from actors.values.format import stamp
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.host_notices import reporter, watch_signals
from replan.cli.options import Invocation
from replan.cli.terminal.console import Lossy, notice
from replan.mcp.serving import Wish, serve_mcp
from replan.setup.command_name import program
from replan.setup.gc_tuning import tune
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config
from runtime.drive.options import Stop
from runtime.host.notices import Stopped


def serve_clients(invocation: Invocation, wish: Wish, *, as_json: bool) -> int:
    """Serve the home until a signal asks to stop, or the client has gone. Return the exit code."""
    tune()
    if wish.port is None and sys.stdin.isatty():
        notice(f"a client starts `{program()} mcp` and speaks MCP with it; Ctrl-C ends it")
    return trio.run(_serve, invocation, wish, as_json)


async def _serve(invocation: Invocation, wish: Wish, as_json: bool) -> int:
    stream = cast("IO[str]", Lossy(sys.stderr if wish.port is None else sys.stdout))
    stop, report = Stop(handover=True), reporter(as_json=as_json, stream=stream)

    def announce(address: str) -> None:
        fields = {"at": stamp(time.time()), "event": "listening", "url": address}
        click.echo(json.dumps(fields) if as_json else f"serving MCP at {address}", file=stream)

    async with opened(invocation, make=True, drives=True) as engine:
        home = locate_home()
        config = read_user_config(home.config)
        async with trio.open_nursery() as nursery:
            await nursery.start(watch_signals, stop, report)
            await serve_mcp(engine, home, config, wish, stop=stop, report=report, opened=announce)
            nursery.cancel_scope.cancel()
    report(Stopped())
    return Exit.OK
