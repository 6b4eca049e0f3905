"""The commands that serve a home: `serve`, `mcp` and `worker`."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from typing import IO, TYPE_CHECKING, Any, cast

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, fair_option, health_option, plugins_option, under
from replan.setup.installation import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan_server.mcp.serving import McpOptions
    from replan_server.settings import ProxyEntry, ServerSettings


PORT = 8430
"""The default port on which `replan serve` listens."""


@click.command(
    short_help="Serve the web page and the HTTP API, and drive the runs.",
    epilog=examples("replan serve", "replan serve --port 0 --no-host", "replan serve --sign-in"),
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    metavar="N",
    help="The port; 0 for any free port.",
)
@click.option("--proxy", metavar="NAME", help="The proxy in config.yaml through which other machines connect.")
@click.option("--listen", metavar="ADDRESS", default="127.0.0.1", help="With --proxy, the address to listen on.")
@click.option("--allow-execute", is_flag=True, help="Let clients execute plans with the tool sets of config.yaml.")
@click.option("--no-host", is_flag=True, help="Do not drive the runs; another process drives them.")
@click.option("--sign-in", is_flag=True, help="Print a new sign-in address of the running server, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@fair_option
@health_option
@plugins_option
@common
@click.pass_obj
@under("Operate")
def serve(
    invocation: Invocation,
    *,
    port: int,
    proxy: str | None,
    listen: str,
    allow_execute: bool,
    no_host: bool,
    sign_in: bool,
    fair: bool,
    health_port: int | None,
    as_json: bool,
) -> int:
    """Serve the web page and the HTTP API of the home, and drive its runs as `replan host` does.

    Prints a sign-in address for a browser, which can be used once, within a minute. Only this machine can connect.
    Other machines need a proxy that authenticates users. Ctrl-C stops the server and parks all runs. The next host
    resumes the runs. `replan token add` makes a token with which a program can use the HTTP API.
    """
    import trio

    from replan.setup.installation import tune

    if sign_in:
        return _print_sign_in(as_json=as_json)
    if fair and no_host:
        raise UsageProblem(
            "only a server that drives runs can use this option", place="--fair", hint="remove --no-host"
        )
    tune()
    options = {
        "port": port,
        "listen": listen,
        "hosts": not no_host,
        "allow_execute": allow_execute,
        "health_port": health_port,
    }
    return trio.run(partial(_serve_page, invocation, proxy, fair=fair, as_json=as_json, **options))


def _print_sign_in(*, as_json: bool) -> int:
    """Print a new one-time sign-in address of each server of the home. Return the exit code."""
    from replan.setup.home_folder import prepare_home
    from replan_server.service.store import Store
    from replan_server.web.serving import sign_in_addresses

    home = prepare_home()
    for address in sign_in_addresses(Store(home.folder), time.time()):
        _print_address(address, as_json=as_json)
    return Exit.OK


async def _serve_page(invocation: Invocation, proxy: str | None, *, fair: bool, as_json: bool, **options: Any) -> int:
    """Serve the home until the process gets a signal to stop. Return the exit code.

    `options` are keyword arguments of `serve_home`.
    """
    import trio

    from replan.cli.home import open_engine
    from replan.cli.host_notices import reporter, watch_signals
    from replan.runs.hosting import let_take_turns
    from replan.setup.home_folder import locate_home
    from replan.setup.settings import settings_of
    from replan_server.settings import ServerSettings
    from replan_server.web.serving import serve_home
    from runtime.drive.options import Stop
    from runtime.host.notices import Stopped

    stop, report = Stop(handover=True), reporter(as_json=as_json)
    async with open_engine(invocation, make=True, drives=True) as engine:
        entry = None if proxy is None else _proxy(proxy, settings_of(engine.config, ServerSettings))

        def announce(address: str) -> None:
            if proxy is None:
                _print_address(address, as_json=as_json)
            else:
                _print_public(address, proxy, as_json=as_json)

        async with trio.open_nursery() as nursery:
            await nursery.start(watch_signals, stop, report)
            driving = let_take_turns(engine) if fair else engine
            await serve_home(driving, locate_home(), proxy=entry, stop=stop, report=report, opened=announce, **options)
            nursery.cancel_scope.cancel()
    report(Stopped())
    return Exit.OK


def _proxy(name: str, config: ServerSettings) -> ProxyEntry:
    from actors.files.suggestions import nearest

    if name not in config.proxies:
        hint = nearest(name, config.proxies, kind="proxies") or "describe the proxy under `proxies` in config.yaml"
        raise UsageProblem(f"there is no proxy {name[:60]!r} in config.yaml", place="--proxy", hint=hint)
    return config.proxies[name]


def _print_public(address: str, proxy: str, *, as_json: bool) -> None:
    from actors.values.format import stamp
    from replan.cli.terminal.console import Lossy

    fields = {"at": stamp(time.time()), "event": "behind_proxy", "url": address, "proxy": proxy}
    text = json.dumps(fields) if as_json else f"serving through the proxy {proxy}: {address}"
    click.echo(text, file=cast("IO[str]", Lossy(sys.stdout)))


def _print_address(address: str, *, as_json: bool) -> None:
    from actors.values.format import clock, stamp
    from replan.cli.terminal.console import Lossy
    from replan_server.service.access import SIGN_IN_SECONDS

    until = time.time() + SIGN_IN_SECONDS
    fields = {"at": stamp(time.time()), "event": "sign_in", "url": address, "until": stamp(until)}
    text = json.dumps(fields) if as_json else f"open this address once, before {clock(until)}: {address}"
    click.echo(text, file=cast("IO[str]", Lossy(sys.stdout)))


MCP_PORT = 8431


@click.command(
    short_help="Serve MCP clients, and drive the runs.",
    epilog=examples("replan mcp", "replan mcp --allow-execute", "replan mcp --http --port 0"),
)
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine, in place of standard input and output.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help=f"The port for HTTP, {MCP_PORT} by default; 0 for any free port.",
)
@click.option("--no-host", is_flag=True, help="Do not drive the runs; another process drives them.")
@click.option("--allow-execute", is_flag=True, help="Let clients execute plans with the tool sets of config.yaml.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@plugins_option
@common
@click.pass_obj
@under("Operate")
def mcp(
    invocation: Invocation, *, http: bool, port: int | None, no_host: bool, allow_execute: bool, as_json: bool
) -> int:
    """Serve clients of the Model Context Protocol (MCP), and drive the runs of the home.

    A client starts this command and uses its standard input and output. When the client exits, the server parks its
    runs and exits too. The next host resumes the runs. With --http, the server listens on this machine, and its clients
    need a token (`replan token add`). Notices go to stderr; with --http, they go to stdout.
    """
    if port is not None and not http:
        raise UsageProblem("only HTTP has a port", place="--port", hint="add --http")
    import trio

    from replan.cli.terminal.console import notice
    from replan.setup.installation import tune
    from replan_server.mcp.serving import McpOptions

    chosen = (MCP_PORT if port is None else port) if http else None
    options = McpOptions(port=chosen, hosts=not no_host, allow_execute=allow_execute)
    tune()
    if options.port is None and sys.stdin.isatty():
        notice(f"an MCP client should start `{program()} mcp`; Ctrl-C stops it")
    return trio.run(_serve_mcp, invocation, options, as_json)


async def _serve_mcp(invocation: Invocation, options: McpOptions, as_json: bool) -> int:
    import trio

    from actors.values.format import stamp
    from replan.cli.home import open_engine
    from replan.cli.host_notices import reporter, watch_signals
    from replan.cli.terminal.console import Lossy
    from replan.setup.home_folder import locate_home
    from replan_server.mcp.serving import serve_mcp
    from runtime.drive.options import Stop
    from runtime.host.notices import Stopped

    stream = cast("IO[str]", Lossy(sys.stderr if options.port is None else sys.stdout))
    stop, report = Stop(handover=True), reporter(as_json=as_json, stream=stream)

    def announce(address: str) -> None:
        fields = {"at": stamp(time.time()), "event": "listening", "url": address}
        click.echo(json.dumps(fields) if as_json else f"serving MCP at {address}", file=stream)

    async with open_engine(invocation, make=True, drives=True) as engine, trio.open_nursery() as nursery:
        await nursery.start(watch_signals, stop, report)
        await serve_mcp(engine, locate_home(), options, stop=stop, report=report, opened=announce)
        nursery.cancel_scope.cancel()
    report(Stopped())
    return Exit.OK


@click.command(
    short_help="Drive runs of a journal in Postgres, on any number of machines.",
    epilog=examples("replan worker --concurrency 50", "replan worker --json | jq -r .event"),
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help="The most runs that this worker drives at once. Default: `runs_max` in config.yaml.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@health_option
@plugins_option
@common
@click.pass_obj
@under("Operate")
def worker(invocation: Invocation, *, concurrency: int | None, health_port: int | None, as_json: bool) -> int:
    """Drive runs of a journal in Postgres (REPLAN_JOURNAL), beside other workers on any number of machines.

    A queue in the same database assigns runs to the workers that have room for more. The entries of the queue are only
    hints: the state of the runs is in the journal. If a worker dies, other workers resume its runs within seconds.

    Prints a line for each event. After Ctrl-C or SIGTERM, the worker waits at most 30 s for open replies, and hands its
    runs over to other workers. A second signal stops it at once.
    """
    import trio

    from replan.cli.commands.host import drive
    from replan.setup.home_folder import database_dispatcher
    from replan.setup.installation import tune

    tune()
    return trio.run(drive, invocation, health_port, as_json, concurrency, database_dispatcher())
