"""`execute`: executes a plan here, or hands it to a host."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import trio

from actors.execution.outline import outline_lines, outline_of
from actors.run.result import RunResult
from replan.cli.detaching import detach as detach_run
from replan.cli.drive import Foreground, drive_in_foreground
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.inputs import read_stdin
from replan.cli.options import Invocation, naming_options
from replan.cli.plugins import registry_of
from replan.cli.reading import reading
from replan.cli.terminal.console import notice, print_json, show
from replan.runs.engine import Engine
from replan.runs.executing import ExecutionOptions, PreparedToExecute, prepare_to_execute
from replan.runs.execution_plans import PlanToExecute, is_file, plan_in_file, plan_of_run, read_plan_file
from replan.runs.reader import Reading
from replan.runs.run_ids import new_run_id, run_named
from replan.runs.session import RunSession
from replan.runs.shipped_examples import WORKFLOW, example_named
from replan.runs.workspaces import admit_alone, ensure_unused
from replan.setup.gc_tuning import tune
from replan.setup.home_folder import locate_home
from runtime.core.errors import RunNotFound
from runtime.drive.options import Stop
from runtime.models.replies import BYTES_MAX


@dataclass(frozen=True, slots=True)
class Execute:
    """The wish to execute a plan, as the command line says it."""

    plan: str | None
    """A run, a file, or `-`; None for an example."""
    example: str | None
    """The name of a shipped example; None for a plan of the user's."""
    workspace: str | None
    """The folder that `--workspace` names; None for none."""
    options: ExecutionOptions
    """The other options."""
    model: str | None
    """The model, as after `--model`; None for the usual one."""
    dry_run: bool = False
    """Whether nothing is run."""
    detach: bool = False
    """Whether a host drives the run."""


def execute_plan(
    invocation: Invocation, request: Execute, *, no_input: bool, as_json: bool, grace: float | None
) -> int:
    """Execute a plan; everything is checked before anything is written. Return the exit code."""
    if request.example is not None:
        request = _with_example(request, request.example)
    prepared = _prepared(invocation, request)
    for each in prepared.notices:
        notice(each)
    if request.dry_run:
        outline = outline_of(prepared.request.config)
        if as_json:
            print_json(outline.to_json())
        else:
            show(list(outline_lines(outline)))
        return Exit.OK
    prepared.check_model()
    foreground = Foreground(invocation, no_input, as_json, grace)
    if request.detach:
        return trio.run(_detach, foreground, prepared)
    tune()
    return trio.run(execute_here, foreground, prepared)


def _with_example(request: Execute, name: str) -> Execute:
    """Return the wish to execute a shipped example, whose project is copied unless nothing is to run."""
    example = example_named(name)
    target = Path(request.workspace or f"replan-{name}")
    if request.dry_run:
        target = example.folder / "project"
    else:
        example.copy_project(target)
        notice(f"the project is in {target}")
    options = replace(
        request.options,
        tools=request.options.tools or example.tools,
        workspace=str(target),
        workflow=request.options.workflow or WORKFLOW,
    )
    return replace(request, plan=example.plan, options=options, model=request.model or example.model)


def _prepared(invocation: Invocation, request: Execute) -> PreparedToExecute:
    """Return the execution, checked. Raises `UsageProblem` that names the option or the file."""
    with naming_options():
        source = source_of(invocation, request.plan or "")
        return prepare_to_execute(
            source, request.options, request.model, registry=registry_of(invocation), environment=os.environ
        )


def source_of(invocation: Invocation, name: str) -> PlanToExecute:
    """Return the plan of a file, of standard input, or of a run. Raises `UsageProblem` where there is none."""
    if name == "-":
        if sys.stdin.isatty():
            notice("reading the plan from the terminal; Ctrl-D ends it")
        return plan_in_file("standard input", read_stdin(BYTES_MAX))
    if is_file(name):
        return read_plan_file(name)

    async def read(reader: Reading) -> PlanToExecute:
        return await plan_of_run(reader, await run_named(reader.journal, name))

    try:
        source = reading(invocation, read)
    except RunNotFound as error:
        raise RunNotFound(name, cause=f"{error}, and no file of this name") from None
    invocation.done_at_once = False  # The execution follows.
    return source


async def execute_here(options: Foreground, prepared: PreparedToExecute) -> int:
    """Execute a plan in the foreground, or follow the host that does. Return the exit code."""
    async with opened(options.invocation, make=True, drives=True) as engine:
        return await execute_in(engine, options, prepared)


async def execute_in(engine: Engine, options: Foreground, prepared: PreparedToExecute) -> int:
    """Do as `execute_here`, with the home open. Raises `UsageProblem` where another run works in the workspace."""
    run, home = new_run_id(), locate_home().folder
    await ensure_unused(engine, prepared.workspace, home)
    kind = engine.kinds.named(prepared.request.kind)

    async def start(session: RunSession, stop: Stop) -> RunResult:
        if not await engine.hosted(kind.name, kind.format):
            return await session.begin(prepared.request, stop)
        await admit_alone(engine, prepared.request, run, home)
        return await session.go_on(stop)

    return await drive_in_foreground(engine, run, start, options, kind=kind, title=prepared.request.title)


async def _detach(options: Foreground, prepared: PreparedToExecute) -> int:
    run, home = new_run_id(), locate_home().folder

    async def admit(engine: Engine) -> None:
        await admit_alone(engine, prepared.request, run, home)

    return await detach_run(options, run, prepared.request.kind, admit, make=True)
