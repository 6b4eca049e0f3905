"""`tell`: posts a note, a requirement or a correction to a run."""

import json

import trio

from replan.cli.commands.answer import report_posted
from replan.cli.exits import Exit
from replan.cli.hints import how_to_resume
from replan.cli.home import opened
from replan.cli.inputs import MESSAGE_BYTES_MAX, read_stdin
from replan.cli.options import Invocation
from replan.cli.reading import named_or_newest
from replan.cli.terminal.console import notice
from replan.cli.terminal.plain import print_json


def tell_run(invocation: Invocation, name: str | None, text: str, kind: str, *, as_json: bool) -> int:
    """Post a note or a requirement to a run, the newest for None. Return the exit code."""
    body = read_stdin(MESSAGE_BYTES_MAX) if text == "-" else text
    return trio.run(_tell, invocation, name, body, kind, as_json)


async def _tell(invocation: Invocation, name: str | None, text: str, kind: str, as_json: bool) -> int:
    async with opened(invocation) as engine:
        run = await named_or_newest(engine, name)
        posted = await engine.tell(run, text, kind)
        row = await engine.journal.row(run)
        hosted = await engine.hosted(row.kind, row.format)
    kind = json.loads(posted.body)["kind"]
    if kind == "value":
        notice(f"run {run} has the value; it calculates anew")
        if row.owner is None:
            how_to_resume(run)
    else:
        effect = "the next prompt shows it" if kind == "note" else "the run goes back for it"
        report_posted(f"run {run} has the {kind}; {effect}", row, hosted=hosted)
    if as_json:
        print_json({"run_id": run, "kind": kind, "result": posted.result})
    return Exit.OK
