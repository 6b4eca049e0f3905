"""`runs`: lists the runs."""

import time

import trio

from actors.values.lines import line
from replan.cli.exits import Exit
from replan.cli.home import opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import out, print_json, rich_text
from replan.runs.run_ids import ALL
from replan.setup.command_name import program
from replan.views.rows import head_line, row_line, row_to_json
from runtime.journal.port import RunFilter


def list_runs(invocation: Invocation, *, waiting: bool, older_than: float | None, as_json: bool) -> int:
    """Print all runs, or those that have waited for a person for longer than some seconds. Return the exit code."""
    return trio.run(_list_runs, invocation, waiting, older_than, as_json)


async def _list_runs(invocation: Invocation, waiting: bool, older_than: float | None, as_json: bool) -> int:
    before = None if older_than is None else time.time() - older_than
    which = RunFilter(status="waiting" if waiting else None, waiting_since_before=before, limit=ALL.limit)
    async with opened_to_read(invocation) as engine:
        rows = await engine.rows(which)
    if as_json:
        print_json({"runs": [row_to_json(row, status) for row, status in rows]})
        return Exit.OK
    console, now = out(), time.time()
    if rows:
        console.print(rich_text(head_line()))
    for row, status in rows:
        console.print(rich_text(row_line(row, status, now)), no_wrap=True, overflow="ellipsis")
    if not rows:
        empty = "no run waits" if waiting else f"no runs yet: `{program()} run PROBLEM` starts one"
        console.print(rich_text(line(empty, "dim")))
    return Exit.OK
