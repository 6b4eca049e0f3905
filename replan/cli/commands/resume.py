"""`resume`: goes on with a run where its journal ends."""

import trio

from actors.run.result import RunResult
from replan.cli.drive import Foreground, drive_in_foreground
from replan.cli.home import opened
from replan.cli.options import Invocation
from replan.cli.reading import newest_run, run_named
from replan.runs.session import RunSession
from replan.setup.gc_tuning import tune
from runtime.drive.options import Stop


def resume_run(invocation: Invocation, run: str | None, *, no_input: bool, as_json: bool) -> int:
    """Go on with a run, or with the newest unfinished one for None. Return the exit code."""
    tune()
    return trio.run(_resume, Foreground(invocation, no_input, as_json), run)


async def _resume(options: Foreground, name: str | None) -> int:
    async with opened(options.invocation, drives=True) as engine:
        run = await newest_run(engine, unfinished=True) if name is None else await run_named(engine, name)
        row = await engine.journal.row(run)

        async def start(session: RunSession, stop: Stop) -> RunResult:
            return await session.drive(stop, compare=True)

        return await drive_in_foreground(engine, run, start, options, kind=await engine.kind_of(run), title=row.title)
