"""`cancel`: ends a run for good."""

import trio

from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.options import Invocation
from replan.cli.reading import named_or_newest
from replan.cli.terminal.console import notice, print_json
from replan.runs import cancelling


def cancel_run(invocation: Invocation, name: str | None, *, as_json: bool) -> int:
    """Cancel a run, the newest for None. Return the exit code."""
    return trio.run(_cancel, invocation, name, as_json)


async def _cancel(invocation: Invocation, name: str | None, as_json: bool) -> int:
    async with opened(invocation) as engine:
        run = await named_or_newest(engine, name)
        finished = await cancelling.cancel_run(engine, run)
    outcome = "is cancelled" if finished else "will be cancelled by the process driving it"
    notice(f"run {run} {outcome}")
    if as_json:
        print_json({"run_id": run, "cancelled": finished})
    return Exit.OK
