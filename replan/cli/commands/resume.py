"""`resume`: goes on with a run where its journal ends, with other limits or another model where they are given."""

from dataclasses import replace

import trio

from actors.run.advice import reopening
from actors.run.limits import checked_limits
from actors.run.result import RunResult
from replan.cli.drive import Foreground, drive_in_foreground
from replan.cli.home import opened
from replan.cli.options import Invocation, naming_options
from replan.cli.reading import newest_run, newest_to_resume, run_named
from replan.cli.terminal.console import notice
from replan.runs.changes import Changes, post_changes
from replan.runs.engine import Engine
from replan.runs.session import RunSession
from replan.runs.status import goes_on
from replan.setup.command_name import program
from replan.setup.gc_tuning import tune
from runtime.drive.options import Stop
from runtime.journal.holding import check_here


def resume_run(
    invocation: Invocation, run: str | None, changes: Changes, *, grace: float | None, no_input: bool, as_json: bool
) -> int:
    """Go on with a run, or for None with the newest that can be gone on with. Return the exit code."""
    with naming_options():
        changes = replace(changes, limits=checked_limits(changes.limits))
    tune()
    return trio.run(_resume, Foreground(invocation, no_input, as_json, grace), run, changes)


async def _resume(options: Foreground, wanted: str | None, changes: Changes) -> int:
    async with opened(options.invocation, drives=True) as engine:
        if wanted is None:
            run = await newest_to_resume(engine, raised=changes.raises_limits)
            await _say_if_older(engine, run)
        else:
            run = await run_named(engine, wanted)
        if changes:
            with naming_options():
                await post_changes(engine, run, changes)
        row, kind = await engine.journal.row(run), await engine.kind_of(run)
        check_here(run, row.owner)
        if row.summary.status == "finished":
            await _say_if_over(engine, run)

        async def start(session: RunSession, stop: Stop) -> RunResult:
            return await session.drive(stop, compare=True)

        return await drive_in_foreground(engine, run, start, options, kind=kind, title=row.title)


async def _say_if_older(engine: Engine, run: str) -> None:
    """Say which run goes on, where a newer one has finished."""
    newest = await newest_run(engine)
    if newest != run:
        row = await engine.journal.row(run)
        notice(f"run {newest} has finished; the newest that goes on is {run}: {row.title}")


async def _say_if_over(engine: Engine, run: str) -> None:
    """Say of a finished run that nothing goes on now, and what can be done."""
    if goes_on((await engine.kind_of(run)).run_state(await engine.state_with_inbox(run))):
        return
    result = await engine.result(run)
    notice(f"run {run} has finished: {result.outcome}. {reopening(result, program())}")
