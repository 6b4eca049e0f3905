"""`prune`: deletes old runs that never go on."""

import time

import trio

from actors.values.format import counted
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, print_json
from replan.cli.terminal.plain import print_text
from replan.runs.deleting import prune


def prune_runs(invocation: Invocation, older_than: float, *, ended: bool, dry_run: bool, as_json: bool) -> int:
    """Delete the runs that have not changed for some seconds, and print their ids. Return the exit code."""
    return trio.run(_prune, invocation, older_than, ended, dry_run, as_json)


async def _prune(invocation: Invocation, older_than: float, ended: bool, dry_run: bool, as_json: bool) -> int:
    async with opened(invocation) as engine:
        runs = await prune(engine, time.time() - older_than, ended=ended, dry_run=dry_run)
    if as_json:
        print_json({"runs": list(runs), "deleted": not dry_run})
    else:
        print_text("".join(f"{run}\n" for run in runs))
    notice(f"{counted(len(runs), 'run')} {'would be deleted' if dry_run else 'deleted'}")
    return Exit.OK
