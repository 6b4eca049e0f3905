"""The options, arguments and help of `runs`."""

import click

from replan.cli.options import Duration, Invocation, common, examples, json_option
from runtime.core.errors import UsageProblem


@click.command(
    epilog=examples(
        "replan runs", "replan runs --waiting --older-than 1h", "replan runs --json | jq -r '.runs[].run_id'"
    )
)
@click.option("--waiting", is_flag=True, help="Only the runs that wait for an answer.")
@click.option("--older-than", type=Duration(), metavar="TIME", help="With --waiting: for longer than 30m, 1h, 2d.")
@json_option
@common
@click.pass_obj
def runs(invocation: Invocation, *, waiting: bool, older_than: float | None, as_json: bool) -> int:
    """List the runs, the newest first."""
    if older_than is not None and not waiting:
        raise UsageProblem("this is for runs that wait", place="--older-than", hint="add --waiting")
    from replan.cli.commands.runs import list_runs

    return list_runs(invocation, waiting=waiting, older_than=older_than, as_json=as_json)
