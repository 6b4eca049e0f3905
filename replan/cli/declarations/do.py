"""The options, arguments and help of `do`."""

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

_DO = examples(
    "replan do problem.md --tools tools.yaml --workspace ../shop -m gpt-5-mini --max-cost 2",
    "replan do problem.md --tools tools.yaml --dry-run",
)


@click.command(epilog=_DO, short_help="Plan a problem, and execute the plan.")
@click.argument("problem")
@click.option("--tools", metavar="FILE", help="The tools file; default: tools.yaml in the home.")
@click.option(
    "--workspace", metavar="DIR", default=".", help="The folder that the tools work in; default: the current one."
)
@click.option(
    "--approve",
    type=click.Choice(["each", "risky", "none"]),
    default="risky",
    show_default=True,
    help="Which calls of tools you approve first.",
)
@click.option(
    "-w",
    "--workflow",
    default="search",
    shell_complete=complete_workflow,
    show_default=True,
    help="The workflow that plans, a shipped one or a file.",
)
@click.option("--search", shell_complete=complete_search, help="How the next attempt is chosen while planning.")
@click.option("-m", "--model", help=f"{GRAMMAR}; default: REPLAN_MODEL, else rules.")
@limit_options
@click.option("--strict", is_flag=True, help="Reject a plan that leaves a demand of the text in no step.")
@click.option(
    "--grace", type=click.FloatRange(min=0), metavar="S", help="After Ctrl-C, wait at most S seconds for work."
)
@click.option("--attach", "files", multiple=True, metavar="FILE", help="A text file to plan with; may be given again.")
@click.option("--repo", "repository", metavar="DIR", help="List this folder's files, and attach those in the text.")
@click.option("--dry-run", is_flag=True, help="Print what planning can cost, and run nothing.")
@placement_options
@plugins_option
@no_input_option
@full_option
@quiet_option
@json_option
@common
@click.pass_obj
def do(
    invocation: Invocation,
    /,
    problem: str,
    *,
    model: str | None,
    files: tuple[str, ...],
    repository: str | None,
    grace: float | None,
    strict: bool,
    dry_run: bool,
    no_input: bool,
    as_json: bool,
    **values: Any,
) -> int:
    """Plan the PROBLEM in a file, or - for standard input, and execute the plan with your tools.

    These are two runs: one that plans, and one that executes its plan. The plan may only name what the tools file
    implements. Limits hold for each of them. Where planning waits for you, answer it, resume it, and execute its plan:
    the commands are printed.
    """
    from actors.planning.prepare import RunOptions
    from replan.cli.commands.do import Do, do_problem
    from replan.runs.executing import ExecutionOptions

    limits = split_limits(values)
    planning = RunOptions(values["workflow"], values["search"], limits, no_input=no_input, strict=strict)
    options = ExecutionOptions(
        tools=values["tools"], workspace=values["workspace"], approval=values["approve"], limits=limits
    )
    request = Do(problem, planning, options, model, files, repository, dry_run=dry_run)
    return do_problem(invocation, request, no_input=no_input, as_json=as_json, grace=grace)
