"""`cancel`: ends a run for good."""

import trio

from replan.cli.exits import Exit
from replan.cli.home import opened, run_named
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, print_json
from replan.runs.engine import Engine
from replan.setup.command_name import program
from runtime.core.errors import Held, UsageProblem

CANCEL_SECONDS = 5.0
"""How long `cancel` waits for the process that drives the run to take the message."""


def cancel_run(invocation: Invocation, wanted: str, *, as_json: bool) -> int:
    """Cancel a run. Return the exit code."""
    return trio.run(_cancel, invocation, wanted, as_json)


async def _cancel(invocation: Invocation, wanted: str, as_json: bool) -> int:
    async with opened(invocation) as engine:
        run = await run_named(engine, wanted)
        row = await engine.journal.row(run)
        if row.summary.status == "finished":
            hint = f"`{program()} show {run}` shows it"
            raise UsageProblem(f"run {run} has finished already ({row.summary.detail})", place="RUN", hint=hint)
        await engine.cancel(run)
        finished = await _finished_soon(engine, run)
    outcome = "is cancelled" if finished else "will be cancelled by the process driving it"
    notice(f"run {run} {outcome}")
    if as_json:
        print_json({"run_id": run, "cancelled": finished})
    return Exit.OK


async def _finished_soon(engine: Engine, run: str) -> bool:
    """Wait until the driver has taken the message, or record the end if nobody drives the run."""
    with trio.move_on_after(CANCEL_SECONDS):
        while True:
            try:
                await engine.finish_cancelled(run)
            except Held:
                await trio.sleep(0.1)
            else:
                break
    return (await engine.journal.row(run)).summary.status == "finished"
