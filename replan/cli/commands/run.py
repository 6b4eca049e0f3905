"""`run`: plans a problem here, or hands it to a host."""

import os

import trio

from actors.config.model_spec import Replay
from actors.planning.prepare import RunOptions
from actors.run.result import RunResult
from replan.cli.cost import print_dry_run
from replan.cli.detaching import detach as detach_run
from replan.cli.drive import Foreground, drive_in_foreground
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.inputs import place_of, read_problem
from replan.cli.options import Invocation, naming_options
from replan.cli.plugins import registry_of
from replan.cli.terminal.console import notice
from replan.runs.attaching import attach
from replan.runs.engine import Engine
from replan.runs.prepare import Prepared, prepare
from replan.runs.run_ids import new_run_id
from replan.runs.session import RunSession
from replan.setup.gc_tuning import tune
from runtime.drive.options import Stop


def run_problem(
    invocation: Invocation,
    problem: str,
    options: RunOptions,
    model: str | None,
    *,
    dry_run: bool,
    detach: bool,
    no_input: bool,
    as_json: bool,
    files: tuple[str, ...] = (),
    repository: str | None = None,
    grace: float | None = None,
) -> int:
    """Plan a problem; everything is checked before anything is written. Return the exit code."""
    text = read_problem(problem)
    attached = attach(files, repository, text)
    with naming_options(PROBLEM=place_of(problem)):
        prepared = prepare(
            text,
            options,
            model,
            registry=registry_of(invocation),
            environment=os.environ,
            attachments=attached.attachments,
        )
    for each in (*attached.notices, *prepared.notices):
        notice(each)
    if dry_run:
        print_dry_run(prepared.request, as_json=as_json)
        return Exit.OK
    prepared.check_model()
    foreground = Foreground(invocation, no_input, as_json, grace)
    if detach:
        return trio.run(_detach, foreground, prepared)
    tune()
    return trio.run(_run, foreground, prepared)


async def _run(options: Foreground, prepared: Prepared) -> int:
    run = new_run_id()
    async with opened(options.invocation, make=_needs_home(prepared), drives=True) as engine:
        kind = engine.kinds.named(prepared.request.kind)

        async def start(session: RunSession, stop: Stop) -> RunResult:
            if not await engine.hosted(kind.name, kind.format):
                return await session.begin(prepared.request, stop)
            await engine.admit(prepared.request, run=run)
            return await session.go_on(stop)

        return await drive_in_foreground(engine, run, start, options, kind=kind, title=prepared.request.title)


async def _detach(options: Foreground, prepared: Prepared) -> int:
    run = new_run_id()

    async def admit(engine: Engine) -> None:
        await engine.admit(prepared.request, run=run)

    return await detach_run(options, run, prepared.request.kind, admit, make=_needs_home(prepared))


def _needs_home(prepared: Prepared) -> bool:
    """Tell whether a missing home is created. A replay needs a run that is there already."""
    return not isinstance(prepared.choice.spec, Replay)
