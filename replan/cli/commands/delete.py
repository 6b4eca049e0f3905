"""`delete`: deletes a run for good."""

import trio

from actors.values.format import counted
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.options import Invocation
from replan.cli.reading import run_named
from replan.cli.terminal.console import notice, print_json
from replan.runs.deleting import delete_run


def delete_named(invocation: Invocation, wanted: str, *, force: bool, as_json: bool) -> int:
    """Delete a run. Return the exit code."""
    return trio.run(_delete, invocation, wanted, force, as_json)


async def _delete(invocation: Invocation, wanted: str, force: bool, as_json: bool) -> int:
    async with opened(invocation) as engine:
        run = await run_named(engine, wanted)
        deleted = await delete_run(engine, run, force=force)
    below = f" with {counted(deleted.runs - 1, 'run')} of its steps" if deleted.runs > 1 else ""
    notice(f"run {run} is deleted{below}")
    if as_json:
        print_json({"run_id": run, "runs": deleted.runs, "texts": deleted.texts, "text_bytes": deleted.text_bytes})
    return Exit.OK
