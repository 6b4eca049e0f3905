"""The options, arguments and help of `prune`."""

import click

from replan.cli.options import Duration, Invocation, common, examples, json_option

_PRUNE = examples(
    "replan prune --older-than 30d --dry-run",
    "replan prune --older-than 30d",
    "replan prune --older-than 90d --ended --json",
)


@click.command(epilog=_PRUNE, short_help="Delete old runs that never go on.")
@click.option("--older-than", type=Duration(), metavar="TIME", required=True, help="Not changed for 12h, 30d.")
@click.option("--ended", is_flag=True, help="Also runs that ended without a plan and could be reopened.")
@click.option("--dry-run", is_flag=True, help="Only list them.")
@json_option
@common
@click.pass_obj
def prune(invocation: Invocation, *, older_than: float, ended: bool, dry_run: bool, as_json: bool) -> int:
    """Delete the runs that never go on, because they succeeded or were cancelled, and that are old.

    Texts that no other run has are deleted with them. The journal's file does not shrink: the room is used again.
    """
    from replan.cli.commands.prune import prune_runs

    return prune_runs(invocation, older_than, ended=ended, dry_run=dry_run, as_json=as_json)
