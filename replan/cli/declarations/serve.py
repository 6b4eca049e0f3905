"""The options, arguments and help of `serve`."""

import click

from replan.cli.options import Invocation, common, examples, health_option, plugins_option
from runtime.core.errors import UsageProblem

PORT = 8430
"""The usual port."""


@click.command(epilog=examples("replan serve", "replan serve --port 0 --no-host", "replan serve --sign-in"))
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, metavar="N", help="0 takes a free one."
)
@click.option("--proxy", metavar="NAME", help="The authenticating proxy of config.yaml that others connect through.")
@click.option("--listen", metavar="ADDRESS", default="127.0.0.1", help="Where the proxy connects to, with --proxy.")
@click.option("--allow-execute", is_flag=True, help="Let clients execute plans with the tool sets of config.yaml.")
@click.option("--no-host", is_flag=True, help="Show and answer only; another process drives the runs.")
@click.option("--sign-in", is_flag=True, help="Print a new one-time address of the server that runs, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@health_option
@plugins_option
@common
@click.pass_obj
def serve(
    invocation: Invocation,
    *,
    port: int,
    proxy: str | None,
    listen: str,
    allow_execute: bool,
    no_host: bool,
    sign_in: bool,
    health_port: int | None,
    as_json: bool,
) -> int:
    """Serve the home to a browser on this machine, and drive its runs as `replan host` does.

    Prints an address that signs a browser in, once, within a minute. Only this machine can connect; others go through
    a proxy that authenticates them. Ctrl-C stops the server and parks all runs; the next host goes on with them.
    Programs use the HTTP API with `replan token add`.
    """
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "hypercorn", "jinja2", "python_multipart") if find_spec(name) is None]
    if missing:
        hint = "pip install 'replan[web]'"
        raise UsageProblem(f"the web page needs the extra `web`, and {missing[0]} is missing", place="serve", hint=hint)
    from replan.cli.commands.serve import Wish, print_sign_in, serve_page

    if sign_in:
        return print_sign_in(as_json=as_json)
    wish = Wish(port, listen, proxy, not no_host, allow_execute, health_port)
    return serve_page(invocation, wish, as_json=as_json)
