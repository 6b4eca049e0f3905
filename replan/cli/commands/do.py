"""`do`: plans a problem and executes the plan, as two runs that name each other."""

import os
import shlex
from dataclasses import dataclass

import trio

from actors.planning.prepare import RunOptions
from actors.planning.result import Result
from actors.run.result import RunResult
from actors.tools.workspace import check_workspace
from actors.values.format import counted
from replan.cli.commands.execute import execute_in
from replan.cli.cost import print_dry_run
from replan.cli.drive import Foreground, drive_to_rest, show_result
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.inputs import place_of, read_problem
from replan.cli.options import Invocation, naming_options
from replan.cli.plugins import registry_of
from replan.cli.terminal.console import notice
from replan.runs.attaching import attach
from replan.runs.engine import Engine
from replan.runs.executing import (
    ExecutionOptions,
    planning_for_tools,
    prepare_to_execute,
    tools_of,
)
from replan.runs.execution_plans import plan_of_run
from replan.runs.prepare import Prepared, prepare
from replan.runs.run_ids import new_run_id
from replan.runs.session import RunSession
from replan.runs.workspaces import ensure_unused
from replan.setup.command_name import program
from replan.setup.gc_tuning import tune
from replan.setup.home_folder import locate_home
from runtime.core.errors import UsageProblem
from runtime.drive.options import Stop


@dataclass(frozen=True, slots=True)
class Do:
    """The wish to plan a problem and execute the plan, as the command line says it."""

    problem: str
    """A file with the problem, or `-`."""
    planning: RunOptions
    """The options of the planning run."""
    options: ExecutionOptions
    """The options of the execution."""
    model: str | None
    """The model, as after `--model`; None for the usual one."""
    files: tuple[str, ...] = ()
    """The files to plan with."""
    repository: str | None = None
    """The repository whose files are listed; None for none."""
    dry_run: bool = False
    """Whether nothing is run."""


def do_problem(invocation: Invocation, request: Do, *, no_input: bool, as_json: bool, grace: float | None) -> int:
    """Plan a problem and execute its plan; all is checked before a call is made. Return the exit code."""
    text = read_problem(request.problem)
    attached = attach(request.files, request.repository, text)
    with naming_options(PROBLEM=place_of(request.problem), tools=request.options.tools or "--tools"):
        home = locate_home()
        workspace = check_workspace(request.options.workspace, home.folder)
        tools, remarks = tools_of(request.options.tools, home, workspace, os.environ)
        prepared = prepare(
            text,
            request.planning,
            request.model,
            registry=registry_of(invocation),
            environment=os.environ,
            attachments=attached.attachments,
        )
        planning = planning_for_tools(prepared.request, tools)
    if not (tools.generators or tools.steps):
        place = request.options.tools or str(home.folder)
        hint = "bind generators in a tools file, and name it with --tools"
        raise UsageProblem("there are no tools, so no step can be executed", place=place, hint=hint)
    for each in (*attached.notices, *remarks, *prepared.notices):
        notice(each)
    if request.dry_run:
        print_dry_run(planning, as_json=as_json)
        return Exit.OK
    prepared.check_model()
    tune()
    foreground = Foreground(invocation, no_input, as_json, grace)
    return trio.run(_do, foreground, request, Prepared(planning, prepared.choice, prepared.environment))


async def _do(options: Foreground, request: Do, prepared: Prepared) -> int:
    run, home = new_run_id(), locate_home().folder
    async with opened(options.invocation, make=True, drives=True) as engine:
        await ensure_unused(engine, check_workspace(request.options.workspace, home), home)
        kind = engine.kinds.named(prepared.request.kind)

        async def start(session: RunSession, stop: Stop) -> RunResult:  # Here: the execution follows in this process.
            return await session.begin(prepared.request, stop)

        result, signals = await drive_to_rest(engine, run, start, options, kind=kind, title=prepared.request.title)
        if not result.succeeded or not isinstance(result, Result) or result.plan is None or signals.code is not None:
            code = await show_result(engine, kind, result, signals, options)
            if result.status != "finished" or result.succeeded:
                notice(f"then execute its plan with: {_command(request, run)}")
            return code
        notice(f"run {run} has planned {counted(len(result.plan.steps), 'step')}; executing")
        return await _execute(engine, options, request, run)


async def _execute(engine: Engine, options: Foreground, request: Do, run: str) -> int:
    """Execute the plan of a planning run. Raises `UsageProblem` that says with which command to go on."""
    with naming_options():
        try:
            prepared = prepare_to_execute(
                await plan_of_run(engine, run),
                request.options,
                request.model,
                registry=engine.registry,
                environment=os.environ,
            )
        except UsageProblem as wrong:
            hint = f"{wrong.hint}; the plan is kept: {_command(request, run)}" if wrong.hint else _command(request, run)
            raise UsageProblem(wrong.cause, place=wrong.place, hint=hint) from None
    for each in prepared.request.notices:
        notice(each)
    return await execute_in(engine, options, prepared)


def _command(request: Do, run: str) -> str:
    """Return the command that executes the plan of a run with the same tools and workspace."""
    options = request.options
    words = [program(), "execute", run]
    words += ["--tools", options.tools] if options.tools else []
    words += ["--workspace", options.workspace] if options.workspace != "." else []
    words += ["-m", request.model] if request.model else []
    return shlex.join(words)
