"""`runs`: lists the runs."""

import time

from actors.values.lines import line
from replan.cli.exits import Exit
from replan.cli.options import Invocation
from replan.cli.reading import reading
from replan.cli.terminal.console import print_json, print_row, print_table
from replan.runs.run_ids import ALL
from replan.setup.command_name import program
from replan.views.rows import head_line, row_line, row_to_json
from runtime.journal.port import RunFilter


def list_runs(invocation: Invocation, *, waiting: bool, older_than: float | None, as_json: bool) -> int:
    """Print all runs, or those that have waited for a person for longer than some seconds. Return the exit code."""
    before = None if older_than is None else time.time() - older_than
    which = RunFilter(status="waiting" if waiting else None, waiting_since_before=before, limit=ALL.limit)
    rows = reading(invocation, lambda reader: reader.rows(which))
    if as_json:
        print_json({"runs": [row_to_json(row, status) for row, status in rows]})
        return Exit.OK
    now = time.time()
    if rows:
        print_table([head_line(), *(row_line(row, status, now) for row, status in rows)])
    else:
        empty = "no run waits" if waiting else f"no runs yet: `{program()} run PROBLEM` starts one"
        print_row(line(empty, "dim"))
    return Exit.OK
