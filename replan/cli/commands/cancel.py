"""`cancel`: ends a run for good."""

import trio

from replan.cli.exits import Exit
from replan.cli.home import opened, run_named
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice
from replan.runs import cancelling


def cancel_run(invocation: Invocation, wanted: str) -> int:
    """Cancel a run. Return the exit code."""
    return trio.run(_cancel, invocation, wanted)


async def _cancel(invocation: Invocation, wanted: str) -> int:
    async with opened(invocation) as engine:
        run = await run_named(engine, wanted)
        finished = await cancelling.cancel_run(engine, run)
    outcome = "is cancelled" if finished else "will be cancelled by the process driving it"
    notice(f"run {run} {outcome}")
    return Exit.OK
