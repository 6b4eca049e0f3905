"""`runs`: lists the runs."""

import time

import click

from replan.cli.exits import Exit
from replan.cli.options import Duration, Invocation, common, examples, json_option
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem


@click.command(
    epilog=examples(
        "replan runs --limit 20", "replan runs --waiting --older-than 1h", "replan runs --json | jq -r '.runs[].run_id'"
    )
)
@click.option("--waiting", is_flag=True, help="Only the runs that wait for an answer.")
@click.option("--older-than", type=Duration(), metavar="TIME", help="With --waiting: for longer than 30m, 1h, 2d.")
@click.option("--limit", type=click.IntRange(1, 1_000_000), metavar="N", help="At most so many runs.")
@click.option("--page", type=click.IntRange(1, 1_000_000), metavar="N", help="With --limit: the page, from 1.")
@json_option
@common
@click.pass_obj
def runs(
    invocation: Invocation,
    *,
    waiting: bool,
    older_than: float | None,
    limit: int | None,
    page: int | None,
    as_json: bool,
) -> int:
    """List the runs, the newest first."""
    if older_than is not None and not waiting:
        raise UsageProblem("this is for runs that wait", place="--older-than", hint="add --waiting")
    if page is not None and limit is None:
        raise UsageProblem("this is for lists with a limit", place="--page", hint="add --limit N")
    from actors.values.lines import line
    from replan.cli.reading import reading
    from replan.cli.terminal.console import print_json, print_row, print_table
    from replan.runs.reader import RowQuery
    from replan.runs.run_ids import ALL
    from replan.views.rows import head_line, row_line, row_to_json
    from runtime.journal.port import RunFilter

    before = None if older_than is None else time.time() - older_than
    most, begin = limit or ALL.limit, ((page or 1) - 1) * (limit or 0)
    which = RunFilter(status="waiting" if waiting else None, waiting_since_before=before, limit=most, begin=begin)
    # A page of waiting runs is one of those that still wait after the answers that nobody has taken yet.
    rows, _ = reading(invocation, lambda reader: reader.row_page(which, RowQuery()))
    if as_json:
        print_json({"runs": [row_to_json(row, status) for row, status in rows]})
        return Exit.OK
    now = time.time()
    if rows:
        print_table([head_line(), *(row_line(row, status, now) for row, status in rows)])
    else:
        empty = (
            "no more runs"
            if begin
            else "no run waits"
            if waiting
            else f"no runs yet: `{program()} run PROBLEM` starts one"
        )
        print_row(line(empty, "dim"))
    return Exit.OK
