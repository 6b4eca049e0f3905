"""The options, arguments and help of `cancel`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, json_option


@click.command(epilog=examples("replan cancel k7m2x9qa"))
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@json_option
@common
@click.pass_obj
def cancel(invocation: Invocation, run_id: str, *, as_json: bool) -> int:
    """Cancel a RUN for good. What it has found is kept; parking (Ctrl-C) is the way to go on later."""
    from replan.cli.commands.cancel import cancel_run

    return cancel_run(invocation, run_id, as_json=as_json)
