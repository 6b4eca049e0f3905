"""The options, arguments and help of `resume`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import (
    Invocation,
    common,
    examples,
    full_option,
    json_option,
    no_input_option,
    plugins_option,
    require_one_run,
)

_RESUME = examples("replan resume --last", "replan resume k7m2x9qa --no-input --json")


@click.command(epilog=_RESUME, short_help="Go on with a run.")
@click.argument("run_id", metavar="RUN|--last", shell_complete=complete_run, required=False)
@click.option("--last", is_flag=True, help="The newest run that has not finished.")
@plugins_option
@no_input_option
@full_option
@json_option
@common
@click.pass_obj
def resume(invocation: Invocation, run_id: str | None, *, last: bool, no_input: bool, as_json: bool) -> int:
    """Go on with a RUN where its journal ends; RUN is its id, or at least six characters of it.

    Nothing that was paid for is asked again. The result of a finished run is printed as it is.
    """
    require_one_run("resume", run_id, last=last)
    from replan.cli.commands.resume import resume_run

    return resume_run(invocation, run_id, no_input=no_input, as_json=as_json)
