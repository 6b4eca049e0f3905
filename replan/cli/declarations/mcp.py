"""The options and help of `mcp`."""

import click

from replan.cli.options import Invocation, common, examples, plugins_option
from runtime.core.errors import UsageProblem

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
        hint = "pip install 'replan[mcp]'"
        raise UsageProblem(f"this needs the extra `mcp`, and {missing[0]} is missing", place="mcp", hint=hint)
    from replan.cli.commands.mcp import serve_clients
    from replan.mcp.serving import Wish

    chosen = (PORT if port is None else port) if http else None
    wish = Wish(port=chosen, hosts=not no_host, allow_execute=allow_execute)
    return serve_clients(invocation, wish, as_json=as_json)
