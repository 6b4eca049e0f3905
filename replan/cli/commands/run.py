"""`run`: plans a problem here, or hands it to a host."""

import os
from typing import Any

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, examples
from replan.cli.run_options import (
    detach_option,
    driving_options,
    is_given,
    limit_options,
    model_option,
    naming_options,
    placement_options,
    planning_options,
)
from runtime.core.errors import UsageProblem

_RUN = examples(
    "replan run problem.md",
    "replan run problem.md -w option_a -m gpt-5-mini --max-cost 0.50",
    "cat problem.md | replan run - --json --no-input | jq .plan > plan.json",
    "replan run problem.md --repo . --attach notes/design.md",
    "replan run problem.md --dry-run",
    "replan run --pddl domain.pddl problem.pddl -m gpt-5-mini --max-calls 8",
)


@click.command(epilog=_RUN, short_help="Plan a problem.")
@click.argument("problem")
@click.option("--pddl", metavar="DOMAIN", help="The PROBLEM is one of this domain, both in PDDL; -w may be left out.")
@planning_options
@model_option
@limit_options
@click.option("--dry-run", is_flag=True, help="Print the worst case in calls and money, and call no model.")
@detach_option
@placement_options
@driving_options
@click.pass_obj
def run(
    invocation: Invocation, /, problem: str, *, pddl: str | None, dry_run: bool, detach: bool, **values: Any
) -> int:
    """Plan the PROBLEM in a file, or - for standard input.

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
    from replan.cli.inputs import read_problem, source_of
    from replan.cli.pddl_files import read_task, workflow_for_pddl
    from replan.cli.plugins import registry_of
    from replan.cli.starting import start_run
    from replan.cli.terminal.console import notice
    from replan.runs.attaching import attach
    from replan.runs.prepare import prepare

    text, texts = (read_problem(problem), None) if pddl is None else read_task(pddl, problem)
    if pddl is not None and not is_given("workflow"):
        values["workflow"] = workflow_for_pddl()
    attached = attach(values["files"], values["repository"], text)
    options = RunOptions(
        values["workflow"],
        values["search"],
        split_limits(values),
        no_input=invocation.no_input,
        strict=values["strict"],
    )
    with naming_options(PROBLEM=source_of(problem)):
        prepared = prepare(
            text,
            options,
            values["model"],
            registry=registry_of(invocation),
            environment=os.environ,
            attachments=attached.attachments,
            pddl=texts,
        )
    for each in (*attached.notices, *prepared.notices):
        notice(each)
    if dry_run:
        prepared.check_settings()
        print_dry_run(prepared.request, as_json=invocation.json)
        return Exit.OK
    prepared.check_model()
    # A replay needs a run that is there already.
    return start_run(invocation, prepared.request, detach=detach, make=not isinstance(prepared.choice.spec, ReplaySpec))
