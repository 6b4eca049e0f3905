"""`cancel`: ends a run for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from replan.cli.run_options import require_one_run, run_argument
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.engine import Engine


@click.command(epilog=examples("replan cancel k7m2x9qa", "replan cancel --last", "replan cancel k7m2x9qa --undo"))
@run_argument()
@click.option("--undo", is_flag=True, help="Undo what an execution did before it ends.")
@json_option
@common
@click.pass_obj
def cancel(invocation: Invocation, run_id: str | None, *, last: bool, undo: bool, as_json: bool) -> int:
    """Cancel a RUN for good. What it has found is kept; parking (Ctrl-C) is the way to go on later."""
    require_one_run("cancel", run_id, last=last)
    import trio

    return trio.run(_cancel, invocation, run_id, undo, as_json)


async def _cancel(invocation: Invocation, name: str | None, undo: bool, as_json: bool) -> int:
    from replan.cli.home import opened
    from replan.cli.reading import named_or_newest
    from replan.cli.terminal.console import notice, print_json
    from replan.runs import cancelling

    async with opened(invocation) as engine:
        run = await named_or_newest(engine, name)
        if undo:
            return await _undo(engine, run, as_json)
        finished = await cancelling.cancel_run(engine, run)
    waits = f"is cancelled once the process driving it takes the message; `{program()} show {run}` shows how it ends"
    notice(f"run {run} {'is cancelled' if finished else waits}")
    if as_json:
        print_json({"run_id": run, "cancelled": finished})
    return Exit.OK


async def _undo(engine: Engine, run: str, as_json: bool) -> int:
    """Have a run that goes on undo what it did; a run that has ended is undone by the command `undo`."""
    from replan.cli.terminal.console import notice, print_json

    row = await engine.journal.row(run)
    if row.status == "finished":
        hint = f"`{program()} undo {run}` undoes what it did"
        raise UsageProblem(f"run {run} has finished already ({row.detail})", place="RUN", hint=hint)
    await engine.undo(run)
    by = "the process driving it" if row.owner is not None else f"`{program()} resume {run}`, or a host,"
    notice(f"run {run}: {by} undoes what it did, and ends it; `{program()} show {run}` shows how far that is")
    if as_json:
        print_json({"run_id": run, "cancelled": False})
    return Exit.OK
