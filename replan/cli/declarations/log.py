"""The options, arguments and help of `log`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, require_one_run

_LOG = examples(
    "replan log k7m2x9qa",
    "replan log --last --follow",
    "replan log --last --json | jq -r .kind",
)


@click.command(epilog=_LOG)
@click.argument("run_id", metavar="RUN|--last", shell_complete=complete_run, required=False)
@click.option("--last", is_flag=True, help="The newest run.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run comes to rest.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@common
@click.pass_obj
def log(invocation: Invocation, run_id: str | None, *, last: bool, follow: bool, as_json: bool) -> int:
    """Print the records of a RUN, a line each."""
    require_one_run("log", run_id, last=last)
    from replan.cli.commands.log import log_run

    return log_run(invocation, run_id, follow=follow, as_json=as_json)
