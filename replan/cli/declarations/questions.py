"""The options, arguments and help of `questions`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, json_option


@click.command(epilog=examples("replan questions", "replan questions k7m2x9qa --json"))
@click.argument("run_id", metavar="[RUN]", shell_complete=complete_run, required=False)
@json_option
@common
@click.pass_obj
def questions(invocation: Invocation, run_id: str | None, *, as_json: bool) -> int:
    """List the open questions of a RUN, or of all runs."""
    from replan.cli.commands.questions import list_questions

    return list_questions(invocation, run_id, as_json=as_json)
