"""The options, arguments and help of `host`."""

import click

from replan.cli.options import Invocation, common, examples, health_option, plugins_option


@click.command(epilog=examples("replan host", "replan host --json | jq -r 'select(.event == \"waiting\").question'"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@health_option
@plugins_option
@common
@click.pass_obj
def host(invocation: Invocation, *, health_port: int | None, as_json: bool) -> int:
    """Serve the home: drive all of its runs that nobody drives, and those that `replan run` hands over.

    Prints a line for each thing that happens. A run that waits for an answer costs nothing; `replan answer` wakes it.
    Ctrl-C or SIGTERM parks all runs, with at most 10 s for replies in flight, and the next host goes on with them; the
    second one waits for nothing.
    """
    from replan.cli.commands.host import serve

    return serve(invocation, health_port, as_json=as_json)
