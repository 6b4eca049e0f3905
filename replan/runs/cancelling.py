"""Cancelling a run from outside, whether a process drives it or none does."""

import trio

from replan.runs.engine import Engine
from replan.setup.command_name import program
from runtime.core.errors import Held, UsageProblem

CANCEL_SECONDS = 5.0
"""How long a cancel waits for the process that drives the run to take the message."""


async def cancel_run(engine: Engine, run: str, *, shown_by: str = "") -> bool:
    """Post the message that cancels a run, and wait for its end. Return whether the run has ended.

    A run that nobody drives ends here; another process takes the message, within `CANCEL_SECONDS` or later. Raises
    `UsageProblem` for a run that has finished, which says that `shown_by` shows it (by default the command), and as
    `Engine.cancel` does.
    """
    row = await engine.journal.row(run)
    if row.status == "finished":
        hint = f"{shown_by or f'`{program()} show {run}`'} shows it"
        raise UsageProblem(f"run {run} has finished already ({row.detail})", place="RUN", hint=hint)
    await engine.cancel(run)
    with trio.move_on_after(CANCEL_SECONDS):
        while True:
            try:
                await engine.finish_cancelled(run)
            except Held:
                await trio.sleep(0.1)
            else:
                break
    return (await engine.journal.row(run)).status == "finished"
