"""`cancel`: what it takes."""

import click

from replan.cli.options import Invocation, common, examples


@click.command(epilog=examples("replan cancel k7m2x9qa"))
@click.argument("run_id", metavar="RUN")
@common
@click.pass_obj
def cancel(invocation: Invocation, run_id: str) -> int:
    """Cancel a RUN for good. What it has found is kept; parking (Ctrl-C) is the way to go on later."""
    from replan.cli.commands.cancel import cancel_run

    return cancel_run(invocation, run_id)
