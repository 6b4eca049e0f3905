"""`lab pddl`: plans problems in PDDL, and checks sequential plans for them."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from replan.cli.completing import complete_search, complete_workflow
from replan.cli.exits import Exit
from replan.cli.options import LEVELS, LongCommand, assurance_option, common, examples, report_format_option
from replan.cli.run_options import (
    detach_option,
    driving_options,
    limit_options,
    model_option,
    name_options,
    placement_options,
)
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.cli.options import Invocation


@click.group(
    epilog=examples(
        "replan lab pddl run domain.pddl problem.pddl -m gpt-5-mini --max-calls 8",
        "replan lab pddl check domain.pddl problem.pddl plan.txt",
    )
)
@common
def pddl() -> None:
    """Plan problems in PDDL, and check sequential plans for them. A file may be - for standard input."""


@pddl.command(
    cls=LongCommand,
    brief="model workflow search max_calls max_cost deadline dry_run detach no_input quiet json",
    epilog=examples(
        "replan lab pddl run domain.pddl problem.pddl -m gpt-5-mini --max-calls 8",
        "replan lab pddl run domain.pddl problem.pddl -m planner:",
    ),
)
@click.argument("domain")
@click.argument("problem")
@click.option(
    "-w", "--workflow", shell_complete=complete_workflow, help="The workflow that plans; default: the one for PDDL."
)
@click.option("--search", shell_complete=complete_search, help="How the next attempt is chosen, such as beam:4.")
@model_option
@limit_options
@click.option("--dry-run", is_flag=True, help="Print the worst case in calls and money, and call no model.")
@detach_option
@placement_options
@driving_options
@click.pass_obj
def run(
    invocation: Invocation,
    /,
    domain: str,
    problem: str,
    *,
    workflow: str | None,
    dry_run: bool,
    detach: bool,
    **values: Any,
) -> int:
    """Plan the PROBLEM of a DOMAIN. The model names actions; the domain says what each action needs and does."""
    if detach and dry_run:
        raise UsageProblem(
            "a dry run cannot be detached",
            place="--detach",
            hint="remove --detach or --dry-run",
        )
    import trio

    from actors.planning.prepare import PlanningInput, RunOptions
    from actors.run.limits import split_limits
    from replan.cli.home import registry_of
    from replan.cli.inputs import source_of
    from replan.cli.planning_options import model_to_use
    from replan.cli.starting import print_dry_run, start_run
    from replan.cli.terminal.console import notice
    from replan.runs.prepare import RunOrder, prepare
    from replan_lab.pddl.planning import check_request, workflow_path

    text = _read_task(domain, problem)
    words = ["lab", "pddl", "run", domain, problem]
    model = model_to_use(invocation, values["model"], words, templates=False)
    workflow, limits = workflow or workflow_path(), split_limits(values)
    options = RunOptions(workflow, values["search"], limits, no_input=invocation.no_input)
    task = PlanningInput(text, options, adapt=check_request)
    with name_options(PROBLEM=source_of(problem)):
        prepared = prepare(RunOrder(task, model), registry=registry_of(invocation), environment=os.environ)
    for remark in prepared.notices:
        notice(remark)
    if dry_run:
        return print_dry_run(prepared, as_json=invocation.json)
    return trio.run(partial(start_run, invocation, prepared, detach=detach))


@pddl.command(epilog=examples("replan lab pddl check domain.pddl problem.pddl plan.txt --json"))
@click.argument("domain")
@click.argument("problem")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True)
@click.option(
    "--level",
    type=LEVELS,
    default="medium",
    show_default=True,
    help="minimal checks the form, medium also preconditions and the goal, expansive also all outcomes of actions.",
)
@assurance_option
@report_format_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for one plan, and an array for several.")
@common
def check(
    domain: str, problem: str, plans: tuple[str, ...], *, level: str, assurance: str | None, form: str, as_json: bool
) -> int:
    """Check sequential PLANs for the PROBLEM of a DOMAIN. A plan is a list of actions, each as (name object ...).

    Exit 0: all valid; 3: some rejected; 2: some unreadable.
    """
    from replan.cli.commands.check import CheckOutput, check_assurance
    from replan.cli.terminal.console import notice
    from replan.views.errors import line_of_error
    from replan_lab.pddl.domain_reader import PddlTexts, task_in
    from replan_lab.pddl.judging import judge_sequence

    if as_json and form not in ("text", "json"):
        raise UsageProblem("two output formats are named", place="--format", hint="leave --json out")
    if assurance is not None:
        check_assurance(level)
    if (domain, problem, *plans).count("-") > 1:
        raise UsageProblem("more than one file is standard input", place="-", hint="use - only once")
    task = task_in(PddlTexts(domain=_text(domain), problem=_text(problem)), domain, problem)
    worst, output = Exit.OK, CheckOutput("json" if as_json else form, single=len(plans) == 1)
    for name in plans:
        try:
            text = _text(name)
            verdict, report = judge_sequence(task, name, text, level=level, assurance=assurance or "strong_cyclic")
        except UsageProblem as wrong:
            notice(line_of_error(wrong))
            worst = Exit.USAGE
            continue
        if not verdict.passed and worst is Exit.OK:
            worst = Exit.UNSOLVED
        output.add(report, {}, text)
    output.end()
    return worst


def _read_task(domain: str, problem: str) -> str:
    from replan_lab.pddl.domain_reader import PddlTexts
    from replan_lab.pddl.planning import problem_text

    if domain == problem == "-":
        raise UsageProblem("more than one file is standard input", place="-", hint="use - only once")
    return problem_text(PddlTexts(_text(domain), _text(problem)), domain, problem)


def _text(name: str) -> str:
    from replan.cli.inputs import file_named, read_file, read_stdin
    from replan_lab.pddl.expressions import BYTES_MAX

    smaller = "use a PDDL file of at most 4 MiB"
    if name == "-":
        return read_stdin(BYTES_MAX, smaller)
    return read_file(file_named(name, "FILE"), BYTES_MAX, name, hint="name a file in PDDL, or -", smaller=smaller)
