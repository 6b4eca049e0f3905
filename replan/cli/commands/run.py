"""`run`: plans a problem here, or hands it to a host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, examples
from replan.cli.run_options import (
    detach_option,
    driving_options,
    goal_options,
    is_given,
    limit_options,
    model_option,
    naming_options,
    placement_options,
    planning_options,
    tools_file_option,
)
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from actors.values.given import PddlTexts

_RUN = examples(
    "replan run problem.md",
    "replan run problem.md -w option_a -m gpt-5-mini --max-cost 0.50",
    "cat problem.md | replan run - --json --no-input | jq .plan > plan.json",
    "replan run problem.md --repo . --attach notes/design.md",
    "replan run problem.md --dry-run",
    "replan run --pddl domain.pddl problem.pddl -m gpt-5-mini --max-calls 8",
    "replan run --tools tools.yaml --goal tests_pass,deployed --holds repository",
)


@click.command(epilog=_RUN, short_help="Plan a problem.")
@click.argument("problem", required=False)
@click.option("--pddl", metavar="DOMAIN", help="The PROBLEM is one of this domain, both in PDDL; -w may be left out.")
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
def run(
    invocation: Invocation, /, problem: str | None, *, pddl: str | None, dry_run: bool, detach: bool, **values: Any
) -> int:
    """Plan the PROBLEM in a file, or - for standard input; or, with --goal, from the steps that tools declare.

    The plan goes to stdout, all else to stderr. Ctrl-C parks the run, once the replies in flight are in, and prints how
    to resume it; a second Ctrl-C leaves at once. Only `replan cancel` cancels a run. A provider that
    stays down parks it too (exit 4).

    Where `replan host` serves the home, it drives the run, and Ctrl-C only leaves it; with --detach the
    run's id is printed at once.
    """
    if detach and dry_run:
        raise UsageProblem("a dry run starts nothing that could be detached", place="--detach", hint="leave one out")
    from actors.config.model_spec import ReplaySpec
    from actors.planning.prepare import RunOptions
    from actors.run.limits import split_limits
    from replan.cli.cost import print_dry_run
    from replan.cli.goal_options import read_goal
    from replan.cli.inputs import source_of
    from replan.cli.plugins import registry_of
    from replan.cli.starting import start_run
    from replan.cli.terminal.console import notice
    from replan.runs.attaching import attach
    from replan.runs.executing import with_tools
    from replan.runs.prepare import prepare

    goal = read_goal(problem, values["goal"], values["holds"], values, or_else="" if pddl is None else "--pddl")
    text, texts = (goal.problem, None) if goal is not None else _task(problem, pddl, values)
    attached = attach(values["files"], values["repository"], text)
    options = RunOptions(
        values["workflow"],
        values["search"],
        split_limits(values),
        no_input=invocation.no_input,
        strict=values["strict"],
    )
    with naming_options(PROBLEM=source_of(problem or "--goal")):
        prepared = prepare(
            text,
            options,
            values["model"],
            registry=registry_of(invocation),
            environment=os.environ,
            attachments=attached.attachments,
            pddl=texts,
        )
        prepared, remarks = with_tools(prepared, values["tools"], goal, os.environ)
    for each in (*attached.notices, *remarks, *prepared.notices):
        notice(each)
    if dry_run:
        prepared.check_settings()
        print_dry_run(prepared.request, as_json=invocation.json)
        return Exit.OK
    prepared.check_model()
    # A replay reads a run of the home, so a missing home is not made.
    return start_run(invocation, prepared.request, detach=detach, make=not isinstance(prepared.choice.spec, ReplaySpec))


def _task(problem: str | None, pddl: str | None, values: dict[str, Any]) -> tuple[str, PddlTexts | None]:
    """Return the problem's text, and its texts in PDDL; None for a problem in words.

    For a problem in PDDL, a workflow that was not given is set in `values`.
    """
    from replan.cli.inputs import read_problem
    from replan.cli.pddl_files import read_task
    from replan.runs.pddl_tasks import workflow_for_pddl

    if problem is None:
        raise UsageProblem(
            "no problem is named", place="PROBLEM", hint="name the file of a problem, after that of its domain"
        )
    if pddl is None:
        return read_problem(problem), None
    if not is_given("workflow"):
        values["workflow"] = workflow_for_pddl()
    return read_task(pddl, problem)
