"""The options, arguments and help of `run`."""

import click

from actors.config.model_spec import GRAMMAR
from replan.cli.completing import complete_search, complete_workflow
from replan.cli.options import (
    Duration,
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
@click.option("--max-calls", type=int, metavar="N", help="Model calls at most.")
@click.option("--max-tokens", type=int, metavar="N", help="Tokens at most, input and output together.")
@click.option("--max-cost", type=float, metavar="USD", help="Dollars at most; the model's price must be known.")
@click.option("--deadline", type=Duration(), help="End the run after 30s, 15m, 2h, 1d.")
@click.option("--active-time", type=Duration(), help="Limit how long models and guards work; waiting does not count.")
@click.option("--patience", type=Duration(), help="Wait at most this long for a provider that is down; default 10m.")
@click.option("--stop-below", type=float, metavar="P", help="Policy belief: the least chance per call of a move.")
@click.option("--strict", is_flag=True, help="Reject a plan that leaves a demand of the text in no step.")
@click.option(
    "--keep-trying", is_flag=True, help="Go on where no move is worth its calls, or the model repeats itself."
)
@click.option(
    "--grace", type=click.FloatRange(min=0), metavar="S", help="After Ctrl-C, wait at most S seconds for replies."
)
@click.option("--output-tokens", type=int, metavar="N", help="Tokens of one reply at most, for every step.")
@click.option("--timeout", type=float, metavar="S", help="Seconds that one model call may take, for every step.")
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
    problem: str,
    *,
    workflow: str,
    model: str | None,
    search: str | None,
    max_calls: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    deadline: float | None,
    active_time: float | None,
    patience: float | None,
    stop_below: float | None,
    strict: bool,
    keep_trying: bool,
    grace: float | None,
    output_tokens: int | None,
    timeout: float | None,
    files: tuple[str, ...],
    repository: str | None,
    dry_run: bool,
    detach: bool,
    no_input: bool,
    as_json: bool,
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

    options = RunOptions(
        workflow=workflow,
        search=search,
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost_usd=max_cost,
        deadline_seconds=deadline,
        active_seconds=active_time,
        patience_seconds=patience,
        stop_below=stop_below,
        strict=strict,
        keep_trying=keep_trying,
        output_tokens=output_tokens,
        timeout_seconds=timeout,
        no_input=no_input,
    )
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
