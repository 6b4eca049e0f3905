"""The command `do`: plans a problem and executes the plan, in two runs."""

from __future__ import annotations

import os
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from replan.cli.options import Invocation, LongCommand, examples
from replan.cli.run_options import (
    check_one_named,
    driving_options,
    goal_options,
    limit_options,
    model_option,
    name_options,
    placement_options,
    planning_options,
    tools_options,
)
from replan.setup.installation import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from actors.planning.prepare import RunRequest
    from actors.values.lines import Line
    from replan.runs.engine import Engine
    from replan.runs.executing import ExecutionOptions
    from replan.runs.token_goals import TokenGoal

_DO = examples(
    "replan do --example repair",
    "replan do problem.md --tools tools.yaml --workspace ../shop -m gpt-5-mini --max-cost 2",
    "replan do problem.md --workspace ../shop --dry-run",
    "replan do --goal tests_pass --holds repository --workspace ../shop",
)


EXAMPLES = ("repair",)
"""The names of the shipped examples for `do`. Each of them has a problem, which `do` plans."""


@click.command(
    cls=LongCommand,
    brief=(
        "workflow model files repository tools workspace approve "
        "example max_calls max_cost deadline dry_run no_input json"
    ),
    epilog=_DO,
    short_help="Plan a problem, and execute the plan.",
)
@click.argument("problem", required=False)
@goal_options
@planning_options
@tools_options
@click.option(
    "--example", type=click.Choice(EXAMPLES), help="Copy a shipped example, plan its problem and execute the plan."
)
@model_option
@limit_options
@click.option("--dry-run", is_flag=True, help="Print what planning can cost, and run nothing.")
@placement_options
@driving_options
@click.pass_obj
def do(
    invocation: Invocation,
    /,
    problem: str | None,
    *,
    example: str | None,
    model: str | None,
    dry_run: bool,
    **values: Any,
) -> int:
    """Plan the PROBLEM in a file, or - for standard input, and execute the plan with your tools; or plan for a --goal.

    This starts two runs: one plans, and one executes the plan. The plan may only name what the tools file implements.
    Limits hold for each run. If planning waits for your answer, the commands to answer, resume and execute are printed.
    """
    import trio

    from actors.planning.prepare import PlanningInput
    from actors.tools.workspace import check_workspace
    from actors.values.lines import BLANK, line
    from replan.cli.home import registry_of
    from replan.cli.inputs import read_problem, source_of
    from replan.cli.planning_options import model_to_use, options_of
    from replan.cli.starting import print_dry_run, take_example
    from replan.cli.terminal.console import notice
    from replan.runs.attaching import attach
    from replan.runs.executing import ExecutionOptions, plan_with_tools, tools_of
    from replan.runs.prepare import RunOrder, prepare
    from replan.setup.home_folder import locate_home
    from replan.setup.installation import tune

    executing, goal = model, _goal(problem, example, values)
    if goal is not None:
        model = model or goal.model
    if example is not None:
        quiet = invocation.quiet or invocation.json
        shipped = take_example(example, values, recorded=model is None, dry_run=dry_run, quiet=quiet)
        problem, model, executing = shipped.problem, model or shipped.planner, model or shipped.model
    planning, file, home = options_of(invocation, values, goal), values["tools"], locate_home()
    options = ExecutionOptions(file, values["workspace"] or ".", values["approve"], limits=planning.limits)
    text = goal.problem if goal is not None else read_problem(problem or "")
    if example is not None:
        _show(invocation, [*map(line, text.splitlines()), BLANK])
    elif goal is None:
        model = executing = model_to_use(invocation, model, ["do", problem or ""])
    attached = attach(values["files"], values["repository"], text)
    with name_options(PROBLEM=source_of(problem or "--goal"), tools=file or "--tools"):
        tools, remarks = tools_of(file, home, check_workspace(options.workspace, home.folder), os.environ)
        adapt = partial(plan_with_tools, lambda: (tools, remarks), goal)
        order = RunOrder(PlanningInput(text, planning, attached.attachments, adapt), model)
        prepared = prepare(order, registry=registry_of(invocation), environment=os.environ)
    if not (tools.generators or tools.steps):
        hint = f"write a tools file with `{program()} init`, or name one with --tools"
        raise UsageProblem("there are no tools, so no step can be executed", place=file or str(home.folder), hint=hint)
    for item in (*attached.notices, *prepared.notices):
        notice(item)
    if dry_run:
        return print_dry_run(prepared, as_json=invocation.json)
    prepared.check_model()
    tune()
    return trio.run(_do, invocation, prepared.request, options, executing)


def _goal(problem: str | None, example: str | None, values: dict[str, Any]) -> TokenGoal | None:
    from replan.cli.planning_options import read_goal

    if not (values["goal"] or values["holds"]):
        check_one_named("problem", problem, example, "name a file with a problem, or --example NAME")
        return None
    return read_goal(problem, values, or_else="--example" if example else "")


async def _do(invocation: Invocation, request: RunRequest, options: ExecutionOptions, model: str | None) -> int:
    from actors.planning.result import Result
    from actors.planning.result_lines import accepted_lines
    from actors.tools.workspace import check_workspace
    from actors.values.lines import BLANK
    from replan.cli.drive import drive_to_rest, show_result
    from replan.cli.home import open_engine
    from replan.cli.terminal.console import notice
    from replan.runs.executing import ensure_unused
    from replan.runs.reader import new_run_id
    from replan.setup.home_folder import locate_home

    run, home = new_run_id(), locate_home().folder
    async with open_engine(invocation, make=True, drives=True) as engine:
        await ensure_unused(engine, check_workspace(options.workspace, home), home)
        kind = engine.kinds.named(request.kind)

        # Without `admit`: the execution follows in this process.
        result, signals = await drive_to_rest(engine, run, invocation, kind=kind, title=request.title, new=request)
        if not result.succeeded or not isinstance(result, Result) or result.plan is None or signals.code is not None:
            code = await show_result(engine, kind, result, signals, invocation)
            if result.status != "finished" or result.succeeded:
                notice(f"then execute the plan with: {_command(run, options, model)}")
            return code
        _show(invocation, [BLANK, *accepted_lines(result, full=False), BLANK])
        return await _execute(engine, invocation, run, options, model)


async def _execute(
    engine: Engine, invocation: Invocation, run: str, options: ExecutionOptions, model: str | None
) -> int:
    """Execute the plan of a planning run. The hint of a `UsageProblem` has the command that executes the plan later."""
    from replan.cli.starting import start_run
    from replan.cli.terminal.console import notice
    from replan.runs.executing import plan_of_run, prepare_to_execute

    with name_options():
        try:
            plan = await plan_of_run(engine, run)
            prepared = prepare_to_execute(plan, options, model, registry=engine.registry, environment=os.environ)
        except UsageProblem as wrong:
            command = _command(run, options, model)
            hint = (
                f"{wrong.hint}; then execute the plan with: {command}"
                if wrong.hint
                else f"then execute the plan with: {command}"
            )
            raise UsageProblem(wrong.cause, place=wrong.place, hint=hint) from None
    for item in prepared.request.notices:
        notice(item)
    return await start_run(invocation, prepared, engine=engine)


def _show(invocation: Invocation, lines: list[Line]) -> None:
    """Print lines about the planning on stderr, unless the user wants only the result of the execution."""
    from replan.cli.terminal.console import show_aside

    if not (invocation.quiet or invocation.json):
        show_aside(lines)


def _command(run: str, options: ExecutionOptions, model: str | None) -> str:
    words = [program(), "execute", run]
    words += ["--tools", options.tools] if options.tools else []
    words += ["--workspace", options.workspace] if options.workspace != "." else []
    words += ["-m", model] if model else []
    return shlex.join(words)
