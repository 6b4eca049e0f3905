"""The options, arguments and help of `questions`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, json_option, require_one_run


@click.command(epilog=examples("replan questions", "replan questions --last", "replan questions k7m2x9qa --json"))
@click.argument("run_id", metavar="[RUN|--last]", shell_complete=complete_run, required=False)
@click.option("--last", is_flag=True, help="Those of the newest run.")
@json_option
@common
@click.pass_obj
def questions(invocation: Invocation, run_id: str | None, *, last: bool, as_json: bool) -> int:
    """List the open questions of a RUN, or of all runs."""
    if last:
        require_one_run("questions", run_id, last=last)
    from replan.cli.commands.questions import list_questions

    return list_questions(invocation, run_id, last=last, as_json=as_json)
