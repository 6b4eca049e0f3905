"""The command `run`: plans a problem in this process, or lets a host plan it."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import click

from replan.cli.options import Invocation, LongCommand, examples
from replan.cli.run_options import (
    detach_option,
    driving_options,
    goal_options,
    limit_options,
    model_option,
    name_options,
    placement_options,
    planning_options,
    tools_file_option,
)
from runtime.core.errors import UsageProblem

_RUN = examples(
    "replan run problem.md",
    "replan run problem.md -w option_a -m gpt-5-mini --max-cost 0.50",
    "cat problem.md | replan run - --json --no-input | jq .plan > plan.json",
    "replan run problem.md --repo . --attach notes/design.md",
    "replan run problem.md --dry-run",
    "replan run --tools tools.yaml --goal tests_pass,deployed --holds repository",
)


@click.command(
    cls=LongCommand,
    brief="workflow model files repository goal tools max_calls max_cost deadline dry_run detach no_input quiet json",
    epilog=_RUN,
    short_help="Plan a problem.",
)
@click.argument("problem", required=False)
@goal_options
@planning_options
@tools_file_option
@model_option
@limit_options
@click.option("--dry-run", is_flag=True, help="Print the worst case in calls and money, and call no model.")
@detach_option
@placement_options
@driving_options
@click.pass_obj
def run(invocation: Invocation, /, problem: str | None, *, dry_run: bool, detach: bool, **values: Any) -> int:
    """Plan the PROBLEM in a file (- for standard input), or a --goal from the steps that tools declare.

    The plan goes to stdout, all else to stderr. Ctrl-C waits for replies in flight, parks the run, and prints how to
    resume it; a second Ctrl-C exits at once. Only `replan cancel` cancels a run. A provider that stays down parks the
    run too (exit 4).

    If `replan host` serves the home, the host drives the run, even after Ctrl-C; with --detach the run's id is printed
    at once.
    """
    if detach and dry_run:
        raise UsageProblem(
            "this option cannot be used with --dry-run", place="--detach", hint="leave one of the two out"
        )
    import trio

    from actors.planning.prepare import PlanningInput
    from replan.cli.home import registry_of
    from replan.cli.inputs import read_problem, source_of
    from replan.cli.planning_options import adapt_to, model_to_use, options_of, read_goal
    from replan.cli.starting import print_dry_run, start_run
    from replan.cli.terminal.console import notice
    from replan.runs.attaching import attach
    from replan.runs.prepare import RunOrder, prepare

    goal, source, model = read_goal(problem, values), problem or "--goal", values["model"]
    text = read_problem(problem or "") if goal is None else goal.problem
    model = model_to_use(invocation, model, ["run", source]) if goal is None else model or goal.model
    attached = attach(values["files"], values["repository"], text)
    task = PlanningInput(text, options_of(invocation, values, goal), attached.attachments, adapt_to(values, goal))
    with name_options(PROBLEM=source_of(source)):
        prepared = prepare(RunOrder(task, model), registry=registry_of(invocation), environment=os.environ)
    for remark in (*attached.notices, *prepared.notices):
        notice(remark)
    if dry_run:
        return print_dry_run(prepared, as_json=invocation.json)
    return trio.run(partial(start_run, invocation, prepared, detach=detach))
