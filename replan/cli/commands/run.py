"""`run`: plans a problem here, or hands it to a host."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, LongCommand, examples
from replan.cli.run_options import (
    detach_option,
    driving_options,
    goal_options,
    is_given,
    limit_options,
    model_option,
    name_options,
    placement_options,
    planning_options,
    tools_file_option,
)
from replan.setup.installation import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.values.given import PddlTexts
    from replan.runs.token_goals import TokenGoal

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
    """Plan the PROBLEM in a file, or - for standard input; or, with --goal, from the steps that tools declare.

    The plan goes to stdout, all else to stderr. Ctrl-C parks the run, once the replies in flight are in, and prints how
    to resume it; a second Ctrl-C leaves at once. Only `replan cancel` cancels a run. A provider that
    stays down parks it too (exit 4).

    Where `replan host` serves the home, it drives the run, and Ctrl-C only leaves it; with --detach the
    run's id is printed at once.
    """
    from replan.cli.inputs import read_problem

    goal = read_goal(problem, values["goal"], values["holds"], values)
    text = goal.problem if goal is not None else read_problem(problem or "")
    return start_planning(invocation, text, values, problem or "--goal", goal=goal, dry_run=dry_run, detach=detach)


def start_planning(
    invocation: Invocation,
    text: str,
    values: dict[str, Any],
    source: str,
    *,
    dry_run: bool,
    detach: bool,
    goal: TokenGoal | None = None,
    pddl: PddlTexts | None = None,
) -> int:
    """Plan a text with the values of the options of `run`; `source` names what the text was read from."""
    if detach and dry_run:
        raise UsageProblem("a dry run starts nothing that could be detached", place="--detach", hint="leave one out")
    import trio

    from actors.config.model_spec import ReplaySpec
    from actors.planning.prepare import RunOptions
    from actors.run.limits import split_limits
    from replan.cli.home import registry_of
    from replan.cli.inputs import source_of
    from replan.cli.model_choice import model_to_use
    from replan.cli.starting import print_dry_run, start_run
    from replan.cli.terminal.console import notice
    from replan.runs.attaching import attach
    from replan.runs.executing import with_tools
    from replan.runs.prepare import prepare

    command = ["run", source] if pddl is None else ["lab", "pddl", "run", values["domain"], source]
    model = model_to_use(invocation, values["model"], command, templates=pddl is None)
    attached = attach(values.get("files", ()), values.get("repository"), text)
    options = RunOptions(
        values["workflow"],
        values["search"],
        split_limits(values),
        no_input=invocation.no_input,
        strict=values["strict"],
    )
    with name_options(PROBLEM=source_of(source)):
        prepared = prepare(
            text,
            options,
            model,
            registry=registry_of(invocation),
            environment=os.environ,
            attachments=attached.attachments,
            pddl=pddl,
        )
        prepared, remarks = with_tools(prepared, values["tools"], goal, os.environ)
    for remark in (*attached.notices, *remarks, *prepared.notices):
        notice(remark)
    if dry_run:
        prepared.check_settings()
        print_dry_run(prepared.request, as_json=invocation.json)
        return Exit.OK
    prepared.check_model()
    # A replay reads a run of the home, so a missing home is not made.
    return trio.run(
        partial(
            start_run,
            invocation,
            prepared.request,
            detach=detach,
            make=not isinstance(prepared.choice.spec, ReplaySpec),
        )
    )


def read_goal(
    problem: str | None, goal: Sequence[str], holds: Sequence[str], values: dict[str, Any], *, or_else: str = ""
) -> TokenGoal | None:
    """Return the goal of `--goal`, or None if a problem is named. `or_else` names the other option that may be used.

    For a goal, the workflow and the model are set in `values` if they are not given. Raises `UsageProblem` if a problem
    and a goal are given, or neither; for `--holds` without a goal; and for files that a search for a plan does not
    read.
    """
    if not goal:
        if holds:
            raise UsageProblem("there is no --goal", place="--holds", hint="name a goal, or leave it out")
        if problem is None and not or_else:
            raise UsageProblem("this argument is missing", place="PROBLEM", hint=f"`{program()} run --help` explains")
        return None
    from replan.runs.token_goals import MODEL, read_goal, workflow_for_goal

    if problem is not None or or_else:
        cause = f"both a goal and {or_else or 'a problem'} are given"
        raise UsageProblem(cause, place="--goal", hint="leave one of the two out")
    for key, option in (("files", "--attach"), ("repository", "--repo"), ("strict", "--strict")):
        if values.get(key):
            raise UsageProblem("a plan for a goal is made only from tools", place=option, hint="leave it out")
    if not is_given("workflow"):
        values["workflow"] = workflow_for_goal()
    values["model"] = values["model"] or MODEL
    with name_options():
        return read_goal(goal, holds)
