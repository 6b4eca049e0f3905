"""`mcp`: serves the home to a program that speaks the Model Context Protocol, and drives its runs."""

from __future__ import annotations

import json
import sys
import time
from typing import IO, TYPE_CHECKING, cast

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, plugins_option
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem
from runtime.core.extras import install_command

if TYPE_CHECKING:
    from replan.mcp.serving import Wish


PORT = 8431
"""The usual port of HTTP."""


@click.command(epilog=examples("replan mcp", "replan mcp --allow-execute", "replan mcp --http --port 0"))
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine, in place of standard input and output.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help=f"The port of HTTP, {PORT} where none is named; 0 takes a free one.",
)
@click.option("--no-host", is_flag=True, help="Show and take messages only; another process drives the runs.")
@click.option("--allow-execute", is_flag=True, help="Let clients execute plans with the tool sets of config.yaml.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@plugins_option
@common
@click.pass_obj
def mcp(
    invocation: Invocation, *, http: bool, port: int | None, no_host: bool, allow_execute: bool, as_json: bool
) -> int:
    """Serve the home to a program that speaks the Model Context Protocol, and drive its runs.

    A client starts it and speaks on standard input and output; when the client ends, so does the server, its runs are
    parked, and the next host goes on with them. With --http it listens on this machine for clients that have a token
    (`replan token add`). Notices go to stderr, with --http to stdout.
    """
    from importlib.util import find_spec

    if port is not None and not http:
        raise UsageProblem("only HTTP has a port", place="--port", hint="add --http")
    missing = [name for name in ("mcp", "starlette", "hypercorn") if find_spec(name) is None]
    if missing:
        hint = install_command("mcp")
        raise UsageProblem(f"this needs the extra `mcp`, and {missing[0]} is missing", place="mcp", hint=hint)
    import trio

    from replan.cli.terminal.console import notice
    from replan.mcp.serving import Wish
    from replan.setup.gc_tuning import tune

    chosen = (PORT if port is None else port) if http else None
    wish = Wish(port=chosen, hosts=not no_host, allow_execute=allow_execute)
    tune()
    if wish.port is None and sys.stdin.isatty():
        notice(f"a client starts `{program()} mcp` and speaks MCP with it; Ctrl-C ends it")
    return trio.run(_serve, invocation, wish, as_json)


async def _serve(invocation: Invocation, wish: Wish, as_json: bool) -> int:
    import trio

    from actors.values.format import stamp
    from replan.cli.home import opened
    from replan.cli.host_notices import reporter, watch_signals
    from replan.cli.terminal.console import Lossy
    from replan.mcp.serving import serve_mcp
    from replan.setup.home_folder import locate_home
    from replan.setup.settings import read_user_config
    from runtime.drive.options import Stop
    from runtime.host.notices import Stopped

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
