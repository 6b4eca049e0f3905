"""`lab queue`: compares two orders of work on many tasks with a common budget, on recorded dialogues."""

from __future__ import annotations

from pathlib import Path

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option

_QUEUE = examples("replan lab queue mint.jsonl.gz", "replan lab queue mint.jsonl.gz --json | jq '.rows[].delta'")


@click.command(epilog=_QUEUE)
@click.argument("file", metavar="FILE")
@click.option("--out", "results", metavar="FOLDER", help="Folder for table and plot; default: experiments/queue.")
@json_option
@common
@click.pass_obj
def queue(
    invocation: Invocation,  # noqa: ARG001 -- every command has it
    file: str,
    *,
    results: str | None,
    as_json: bool,
) -> int:
    """Compare two orders of work on the records in a FILE: one task after another, or one attempt at each in turn.

    Both orders spend the same budget of attempts on the same tasks. A solved task gets no further attempts.
    """
    from actors.values.lines import line
    from replan.cli.terminal.console import out, print_json, rich_text
    from replan_lab.commands.experiment import print_rows
    from replan_lab.experiments.report import write_files
    from replan_lab.recorded_dialogues.records import read_records
    from replan_lab.recorded_dialogues.scheduling import queue_plot, queue_table

    table = queue_table(read_records(Path(file)))
    folder = Path(results or "experiments/queue")
    write_files(folder, {"queue": table}, {"queue": queue_plot(table)}, {})
    if as_json:
        print_json({"folder": str(folder), "rows": table})
    else:
        print_rows(table)
        out().print(rich_text(line(f"Table and plot: {folder}")))
    return Exit.OK
