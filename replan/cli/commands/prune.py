"""`prune`: deletes old runs that never go on."""

import time
from functools import partial

import click

from replan.cli.exits import Exit
from replan.cli.options import Duration, Invocation, common, examples, json_option, keep_workspace_option

_PRUNE = examples(
    "replan prune --older-than 30d --dry-run",
    "replan prune --older-than 30d",
    "replan prune --older-than 90d --ended --json",
)


@click.command(epilog=_PRUNE, short_help="Delete old runs that never go on.")
@click.option("--older-than", type=Duration(), metavar="TIME", required=True, help="Not changed for 12h, 30d.")
@click.option("--ended", is_flag=True, help="Also runs that ended without a plan and could be reopened.")
@click.option("--dry-run", is_flag=True, help="Only list them.")
@keep_workspace_option
@json_option
@common
@click.pass_obj
def prune(
    invocation: Invocation, *, older_than: float, ended: bool, dry_run: bool, keep_workspace: bool, as_json: bool
) -> int:
    """Delete the runs that never go on, because they succeeded or were cancelled, and that are old.

    Texts that no other run has are deleted with them, and folders that were made for forks of executions, unless they
    have changed since. The journal's file does not shrink: the room is used again.
    """
    import trio

    before = time.time() - older_than
    return trio.run(
        partial(_prune, invocation, before, as_json, ended=ended, dry_run=dry_run, keep_workspace=keep_workspace)
    )


async def _prune(
    invocation: Invocation, before: float, as_json: bool, *, ended: bool, dry_run: bool, keep_workspace: bool
) -> int:
    from actors.values.format import counted
    from replan.cli.folder_notices import tell_of_folders
    from replan.cli.home import opened
    from replan.cli.terminal.console import notice, print_json
    from replan.cli.terminal.plain import print_text
    from replan.runs.archiving import prune

    async with opened(invocation) as engine:
        runs, left = await prune(engine, before, ended=ended, dry_run=dry_run, keep_workspace=keep_workspace)
    folders = tell_of_folders(left)
    if as_json:
        print_json({"runs": list(runs), "deleted": not dry_run, "folders": folders})
    else:
        print_text("".join(f"{run}\n" for run in runs))
    notice(f"{counted(len(runs), 'run')} {'would be deleted' if dry_run else 'deleted'}")
    return Exit.OK
