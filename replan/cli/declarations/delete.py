"""The options, arguments and help of `delete`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, json_option


@click.command(epilog=examples("replan delete k7m2x9qa", "replan delete k7m2x9qa --force --json"))
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@click.option("--force", is_flag=True, help="Also a run that has not ended.")
@json_option
@common
@click.pass_obj
def delete(invocation: Invocation, run_id: str, *, force: bool, as_json: bool) -> int:
    """Delete a RUN for good: its records, its messages, and texts that no other run has. Nothing brings it back."""
    from replan.cli.commands.delete import delete_named

    return delete_named(invocation, run_id, force=force, as_json=as_json)
