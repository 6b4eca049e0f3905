"""`resume`: goes on with a run where its journal ends, with other limits or another model where they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from replan.cli.options import Invocation, examples
from replan.cli.run_options import driving_options, limit_options, naming_options, require_one_run, run_argument
from replan.setup.command_name import program

if TYPE_CHECKING:
    from actors.run.result import RunResult
    from replan.runs.changes import Changes
    from replan.runs.engine import Engine
    from replan.runs.session import RunSession
    from runtime.drive.options import Stop

_RESUME = examples(
    "replan resume --last",
    "replan resume k7m2x9qa --no-input --json",
    "replan resume k7m2x9qa --max-calls 60 --deadline 2h",
    "replan resume k7m2x9qa -m gpt-5-mini",
)


@click.command(epilog=_RESUME, short_help="Go on with a run, with other limits or another model.")
@run_argument(last="The newest run that can be gone on with.")
@click.option("-m", "--model", help="Another model from now on.")
@limit_options
@click.option("--strict", is_flag=True, help="Reject plans that leave a demand of the text in no step, from now on.")
@driving_options
@click.pass_obj
def resume(
    invocation: Invocation, /, run_id: str | None, *, last: bool, model: str | None, strict: bool, **limits: Any
) -> int:
    """Go on with a RUN where its journal ends; RUN is its id, or at least six characters of it.

    Replies in the journal are not asked for again. A run whose budget is used up goes on only with larger limits; a run
    that has failed needs no option. If the run waits for its provider, the provider is asked at once. If nothing can
    follow, the result of the run is printed.

    Limits hold for the whole run: what was used already counts. The deadline counts from now.
    """
    require_one_run("resume", run_id, last=last)
    import trio

    from actors.run.limits import checked_limits, split_limits
    from replan.runs.changes import Changes
    from replan.setup.gc_tuning import tune

    with naming_options():
        changes = Changes(checked_limits(split_limits(limits)), model, strict)
    tune()
    return trio.run(_resume, invocation, run_id, changes)


async def _resume(invocation: Invocation, prefix: str | None, changes: Changes) -> int:
    from replan.cli.drive import drive_to_rest, show_result
    from replan.cli.home import opened
    from replan.cli.reading import newest_to_resume, run_named
    from replan.runs.changes import post_changes
    from runtime.journal.head import check_here

    async with opened(invocation, drives=True) as engine:
        if prefix is None:
            run = await newest_to_resume(engine, raised=changes.raises_limits)
            await _say_if_older(engine, run)
        else:
            run = await run_named(engine, prefix)
        if changes:
            with naming_options():
                await post_changes(engine, run, changes)
        row, kind = await engine.journal.row(run), await engine.kind_of(run)
        check_here(run, row.owner)
        if row.status == "finished":
            await _say_if_over(engine, run)

        async def start(session: RunSession, stop: Stop) -> RunResult:
            return await session.drive(stop, compare=True)

        result, signals = await drive_to_rest(engine, run, start, invocation, kind=kind, title=row.title)
        return await show_result(engine, kind, result, signals, invocation)


async def _say_if_older(engine: Engine, run: str) -> None:
    """Say which run goes on, where a newer one has finished."""
    from replan.cli.reading import newest_run
    from replan.cli.terminal.console import notice

    newest = await newest_run(engine)
    if newest != run:
        row = await engine.journal.row(run)
        notice(f"run {newest} has finished; the newest that goes on is {run}: {row.title}")


async def _say_if_over(engine: Engine, run: str) -> None:
    """Say of a finished run that nothing goes on now, and what can be done."""
    from actors.run.advice import reopening
    from replan.cli.terminal.console import notice
    from replan.runs.status import goes_on

    if goes_on((await engine.kind_of(run)).run_state(await engine.state_with_inbox(run))):
        return
    result = await engine.result(run)
    notice(f"run {run} has finished: {result.outcome}. {reopening(result, program())}")
