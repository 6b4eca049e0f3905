"""`runs`: lists the runs."""

import time

import click

from replan.cli.exits import Exit
from replan.cli.options import Duration, Invocation, common, examples, json_option
from replan.setup.command_name import program
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
    from actors.values.lines import line
    from replan.cli.reading import reading
    from replan.cli.terminal.console import print_json, print_row, print_table
    from replan.runs.run_ids import ALL
    from replan.views.rows import head_line, row_line, row_to_json
    from runtime.journal.port import RunFilter

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
