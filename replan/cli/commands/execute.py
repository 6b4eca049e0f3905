"""The command `execute`: executes a plan in this process, or lets a host execute it."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from replan.cli.completing import complete_workflow
from replan.cli.exits import Exit
from replan.cli.options import LEVELS, Invocation, LongCommand, examples
from replan.cli.run_options import (
    check_one_named,
    detach_option,
    driving_options,
    limit_options,
    model_option,
    name_options,
    placement_options,
    tools_options,
)
from runtime.core.errors import RunNotFound, UsageProblem

if TYPE_CHECKING:
    from replan.runs.executing import PlanToExecute
    from replan.runs.reader import RunReader

_EXECUTE = examples(
    "replan execute --example repair",
    "replan execute k7m2x9qa --tools tools.yaml --workspace ../shop --dry-run",
    "replan execute k7m2x9qa --tools tools.yaml --workspace ../shop -m gpt-5-mini --max-cost 1",
    "replan execute plan.json --approve each",
)
EXAMPLES = ("repair", "detour")
"""The names of the shipped examples for `execute`."""


@click.command(
    cls=LongCommand,
    brief=(
        "tools workspace approve example model workflow max_calls max_cost deadline dry_run detach no_input quiet json"
    ),
    epilog=_EXECUTE,
    short_help="Execute a plan with your tools.",
)
@click.argument("plan", required=False, metavar="RUN|PLAN.json")
@tools_options
@click.option("--example", type=click.Choice(EXAMPLES), help="Copy a shipped example, and execute it.")
@model_option
@click.option(
    "-w",
    "--workflow",
    shell_complete=complete_workflow,
    help="The workflow that makes new plans; default: the workflow that made this plan, or search.",
)
@click.option("--level", type=LEVELS, help="Prove the plan at this level.")
@click.option("--r-max", type=click.IntRange(min=1), metavar="N", help="The most attempts that a plan may budget for.")
@limit_options
@click.option("--dry-run", is_flag=True, help="Print what would run, and run nothing.")
@detach_option
@placement_options
@driving_options
@click.pass_obj
def execute(
    invocation: Invocation,
    /,
    plan: str | None,
    *,
    example: str | None,
    model: str | None,
    dry_run: bool,
    detach: bool,
    **values: Any,
) -> int:
    """Execute the plan of a planning RUN, or of a file (- for standard input), step by step, with your tools.

    The tools file says what does the work of each generator and guard. This is a program, a function, an MCP tool, a
    coding agent, a model or a person. The plan is proved again before anything runs. After a failure, the plan says
    what follows. If the plan says nothing, the policy decides, and Replan makes a new plan.

    The result of each goal goes to stdout, everything else to stderr. Ctrl-C parks the run and prints how to resume it.
    """
    check_one_named("plan", plan, example, "name a planning run, a file with a plan, or --example NAME")
    if detach and dry_run:
        raise UsageProblem(
            "this option cannot be used with --dry-run", place="--detach", hint="leave one of the two out"
        )
    import trio

    from actors.execution.outline import outline_lines, outline_of
    from actors.run.limits import split_limits
    from replan.cli.home import registry_of
    from replan.cli.starting import start_run, take_example
    from replan.cli.terminal.console import notice, print_json, show
    from replan.runs.executing import ExecutionOptions, prepare_to_execute
    from replan.runs.shipped_examples import WORKFLOW

    if example is not None:
        quiet = invocation.quiet or invocation.json
        shipped = take_example(example, values, recorded=model is None, dry_run=dry_run, quiet=quiet)
        plan, model, values["workflow"] = shipped.plan, model or shipped.model, values["workflow"] or WORKFLOW
    options = ExecutionOptions(
        tools=values["tools"],
        workspace=values["workspace"] or ".",
        approval=values["approve"],
        level=values["level"],
        r_max=values["r_max"],
        workflow=values["workflow"],
        limits=split_limits(values),
    )
    with name_options():
        source = _source_of(invocation, plan or "")
        prepared = prepare_to_execute(source, options, model, registry=registry_of(invocation), environment=os.environ)
    for item in prepared.notices:
        notice(item)
    if dry_run:
        outline = outline_of(prepared.request.config)
        if invocation.json:
            print_json(outline.to_json())
        else:
            show(list(outline_lines(outline)))
        return Exit.OK
    return trio.run(partial(start_run, invocation, prepared, detach=detach))


def _source_of(invocation: Invocation, name: str) -> PlanToExecute:
    from replan.cli.inputs import read_stdin
    from replan.cli.reading import read_home
    from replan.cli.terminal.console import notice
    from replan.runs.executing import is_file, plan_in_file, plan_of_run, read_plan_file
    from replan.runs.reader import resolve_run
    from runtime.models.replies import BYTES_MAX

    if name == "-":
        if sys.stdin.isatty():
            notice("reading the plan from the terminal; Ctrl-D ends the text")
        return plan_in_file("standard input", read_stdin(BYTES_MAX))
    if is_file(name):
        return read_plan_file(name)

    async def read(reader: RunReader) -> PlanToExecute:
        return await plan_of_run(reader, await resolve_run(reader.journal, name))

    try:
        source = read_home(invocation, read)
    except RunNotFound as error:
        raise RunNotFound(name, cause=f"{error}, and there is no file with this name") from None
    invocation.done_at_once = False  # The execution follows.
    return source
