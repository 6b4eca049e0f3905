"""`tell`: posts a note or a requirement to a run."""

import trio

from replan.cli.commands.answer import report_posted
from replan.cli.exits import Exit
from replan.cli.home import opened, run_named
from replan.cli.inputs import MESSAGE_BYTES_MAX, read_stdin
from replan.cli.options import Invocation


def tell_run(invocation: Invocation, wanted: str, text: str, kind: str) -> int:
    """Post a note or a requirement. Return the exit code."""
    return trio.run(_tell, invocation, wanted, read_stdin(MESSAGE_BYTES_MAX) if text == "-" else text, kind)


async def _tell(invocation: Invocation, wanted: str, text: str, kind: str) -> int:
    async with opened(invocation) as engine:
        run = await run_named(engine, wanted)
        await engine.tell(run, text, kind)
        row, hosted = await engine.journal.row(run), await engine.hosted()
    effect = "the next prompt shows it" if kind == "note" else "the run goes back for it"
    report_posted(f"run {run} has the {kind}; {effect}", row, hosted=hosted)
    return Exit.OK
