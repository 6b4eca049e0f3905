"""The options, arguments and help of `host`."""

import click

from replan.cli.options import Invocation, common, examples, plugins_option


@click.command(epilog=examples("replan host", "replan host --json | jq -r 'select(.event == \"waiting\").question'"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@plugins_option
@common
@click.pass_obj
def host(invocation: Invocation, *, as_json: bool) -> int:
    """Serve the home: drive all of its runs that nobody drives, and those that `replan run` hands over.

    Prints a line for each thing that happens. A run that waits for an answer costs nothing; `replan answer` wakes it.
    Ctrl-C or SIGTERM parks all runs, with at most 10 s for replies in flight, and the next host goes on with them; the
    second one waits for nothing.
    """
    from replan.cli.commands.host import serve

    return serve(invocation, as_json=as_json)
