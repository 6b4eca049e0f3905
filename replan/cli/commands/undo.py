"""`undo`: undoes what an execution did, the last call first, also after its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from replan.cli.options import Invocation, examples
from replan.cli.run_options import driving_options, require_one_run, run_argument
from replan.setup.command_name import program
from runtime.core.errors import Held

if TYPE_CHECKING:
    from actors.run.result import RunResult
    from replan.runs.session import RunSession
    from runtime.drive.options import Stop


@click.command(epilog=examples("replan undo k7m2x9qa", "replan undo --last --json"))
@run_argument()
@driving_options
@click.pass_obj
def undo(invocation: Invocation, /, run_id: str | None, *, last: bool) -> int:
    """Undo what an execution did, the last call first, and end it as undone (exit 10).

    It works on an execution that has ended, and on one that nobody drives. Each step says in its plan how it is undone;
    where that fails, or nobody knows what a call did, you are asked. One that another process drives is undone by
    `cancel RUN --undo`.
    """
    require_one_run("undo", run_id, last=last)
    import trio

    return trio.run(_undo, invocation, run_id)


async def _undo(invocation: Invocation, name: str | None) -> int:
    from replan.cli.drive import drive_to_rest, show_result
    from replan.cli.home import opened
    from replan.cli.reading import named_or_newest
    from replan.cli.terminal.console import notice
    from runtime.journal.head import check_here

    async with opened(invocation, drives=True) as engine:
        run = await named_or_newest(engine, name)
        row, kind = await engine.journal.row(run), await engine.kind_of(run)
        check_here(run, row.owner)
        if row.owner is not None:
            notice(f"`{program()} cancel {run} --undo` has the process that drives it undo it")
            raise Held(run, row.owner, engine.clock.now())
        await engine.undo(run)

        async def start(session: RunSession, stop: Stop) -> RunResult:
            return await session.drive(stop, compare=True)

        result, signals = await drive_to_rest(engine, run, start, invocation, kind=kind, title=row.title)
        return await show_result(engine, kind, result, signals, invocation)
