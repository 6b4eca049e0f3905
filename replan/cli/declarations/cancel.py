"""The options, arguments and help of `cancel`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, json_option, require_one_run


@click.command(epilog=examples("replan cancel k7m2x9qa", "replan cancel --last"))
@click.argument("run_id", metavar="RUN|--last", shell_complete=complete_run, required=False)
@click.option("--last", is_flag=True, help="The newest run.")
@json_option
@common
@click.pass_obj
def cancel(invocation: Invocation, run_id: str | None, *, last: bool, as_json: bool) -> int:
    """Cancel a RUN for good. What it has found is kept; parking (Ctrl-C) is the way to go on later."""
    require_one_run("cancel", run_id, last=last)
    from replan.cli.commands.cancel import cancel_run

    return cancel_run(invocation, run_id, as_json=as_json)
