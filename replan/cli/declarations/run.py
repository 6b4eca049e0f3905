"""The options, arguments and help of `run`."""

from typing import Any

import click

from actors.config.model_spec import GRAMMAR
from actors.run.limits import split_limits
from replan.cli.completing import complete_search, complete_workflow
from replan.cli.limit_options import limit_options
from replan.cli.options import (
    Invocation,
    common,
    examples,
    full_option,
    json_option,
    no_input_option,
    placement_options,
    plugins_option,
    quiet_option,
)
from runtime.core.errors import UsageProblem

_RUN = examples(
    "replan run problem.md",
    "replan run problem.md -w option_a -m gpt-5-mini --max-cost 0.50",
    "cat problem.md | replan run - --json --no-input | jq .plan > plan.json",
    "replan run problem.md --repo . --attach notes/design.md",
    "replan run problem.md --dry-run",
)


@click.command(epilog=_RUN, short_help="Plan a problem.")
@click.argument("problem")
@click.option(
    "-w",
    "--workflow",
    default="search",
    shell_complete=complete_workflow,
    show_default=True,
    help="A shipped workflow or a file.",
)
@click.option("-m", "--model", help=f"{GRAMMAR}; default: REPLAN_MODEL, else rules.")
@click.option(
    "--search", shell_complete=complete_search, help="How the next attempt is chosen, such as depth_first or beam:4."
)
@limit_options
@click.option("--strict", is_flag=True, help="Reject a plan that leaves a demand of the text in no step.")
@click.option(
    "--grace", type=click.FloatRange(min=0), metavar="S", help="After Ctrl-C, wait at most S seconds for replies."
)
@click.option("--attach", "files", multiple=True, metavar="FILE", help="A text file to plan with; may be given again.")
@click.option(
    "--repo", "repository", metavar="DIR", help="List this folder's files, and attach those that the text names."
)
@click.option("--dry-run", is_flag=True, help="Print the worst case in calls and money, and call no model.")
@click.option("--detach", is_flag=True, help="Let a host drive the run, and return at once.")
@placement_options
@plugins_option
@no_input_option
@full_option
@quiet_option
@json_option
@common
@click.pass_obj
def run(
    invocation: Invocation,
    /,
    problem: str,
    *,
    workflow: str,
    model: str | None,
    search: str | None,
    strict: bool,
    grace: float | None,
    files: tuple[str, ...],
    repository: str | None,
    dry_run: bool,
    detach: bool,
    no_input: bool,
    as_json: bool,
    **limits: Any,
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
    from actors.planning.prepare import RunOptions
    from replan.cli.commands.run import run_problem

    options = RunOptions(workflow, search, split_limits(limits), no_input=no_input, strict=strict)
    return run_problem(
        invocation,
        problem,
        options,
        model,
        dry_run=dry_run,
        detach=detach,
        no_input=no_input,
        as_json=as_json,
        files=files,
        repository=repository,
        grace=grace,
    )
