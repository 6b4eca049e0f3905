"""The options, arguments and help of `execute`."""

from typing import Any

import click

from actors.config.model_spec import GRAMMAR
from actors.run.limits import split_limits
from replan.cli.completing import complete_workflow
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

_EXECUTE = examples(
    "replan execute --example repair",
    "replan execute k7m2x9qa --tools tools.yaml --workspace ../shop --dry-run",
    "replan execute k7m2x9qa --tools tools.yaml --workspace ../shop -m gpt-5-mini --max-cost 1",
    "replan execute plan.json --approve each",
)
EXAMPLES = ("repair", "detour")
"""The shipped examples."""


@click.command(epilog=_EXECUTE, short_help="Execute a plan with your tools.")
@click.argument("plan", required=False, metavar="RUN|PLAN.json")
@click.option("--tools", metavar="FILE", help="The tools file; default: tools.yaml in the home.")
@click.option("--workspace", metavar="DIR", help="The folder that the tools work in; default: the current one.")
@click.option(
    "--approve",
    type=click.Choice(["each", "risky", "none"]),
    default="risky",
    show_default=True,
    help="Which calls of tools you approve first.",
)
@click.option("--example", type=click.Choice(EXAMPLES), help="Copy a shipped example, and execute it.")
@click.option("-m", "--model", help=f"{GRAMMAR}; default: REPLAN_MODEL, else rules.")
@click.option(
    "-w",
    "--workflow",
    shell_complete=complete_workflow,
    help="The workflow that replans; default: the one that made the plan, or search.",
)
@click.option("--level", type=click.Choice(["minimal", "medium", "expansive"]), help="Prove the plan at this level.")
@click.option("--r-max", type=click.IntRange(min=1), metavar="N", help="The most attempts that a plan may budget for.")
@limit_options
@click.option(
    "--grace", type=click.FloatRange(min=0), metavar="S", help="After Ctrl-C, wait at most S seconds for work."
)
@click.option("--dry-run", is_flag=True, help="Print what would run, and run nothing.")
@click.option("--detach", is_flag=True, help="Let a host drive the run, and return at once.")
@placement_options
@plugins_option
@no_input_option
@full_option
@quiet_option
@json_option
@common
@click.pass_obj
def execute(
    invocation: Invocation,
    /,
    plan: str | None,
    *,
    example: str | None,
    model: str | None,
    grace: float | None,
    dry_run: bool,
    detach: bool,
    no_input: bool,
    as_json: bool,
    **values: Any,
) -> int:
    """Execute the plan of a planning RUN, or of a file (- for standard input), step by step, with your tools.

    The tools file says which program, function, model or person each generator and guard of the plan stands for. The
    plan is proved again before anything runs. After a failure, the plan says what follows. Where it says
    nothing, the policy decides, and Replan makes a new plan for what is left.

    The result of each goal goes to stdout, everything else to stderr. Ctrl-C parks the run and prints
    how to go on with it.
    """
    if (plan is None) == (example is None):
        cause = "no plan is named" if plan is None else "both a plan and --example are given"
        raise UsageProblem(cause, place="PLAN", hint="name a planning run, a file with a plan, or --example NAME")
    if detach and dry_run:
        raise UsageProblem("a dry run starts nothing that could be detached", place="--detach", hint="leave one out")
    from replan.cli.commands.execute import Execute, execute_plan
    from replan.runs.executing import ExecutionOptions

    limits = split_limits(values)
    workspace = values.pop("workspace")
    options = ExecutionOptions(
        tools=values["tools"],
        workspace=workspace or ".",
        approval=values["approve"],
        level=values["level"],
        r_max=values["r_max"],
        workflow=values["workflow"],
        limits=limits,
    )
    request = Execute(plan, example, workspace, options, model, dry_run=dry_run, detach=detach)
    return execute_plan(invocation, request, no_input=no_input, as_json=as_json, grace=grace)
