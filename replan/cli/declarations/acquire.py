"""The options, arguments and help of `acquire`."""

from typing import Any

import click

from actors.config.model_spec import GRAMMAR
from actors.run.limits import split_limits
from replan.cli.limit_options import limit_options
from replan.cli.options import (
    Invocation,
    common,
    examples,
    json_option,
    no_input_option,
    placement_options,
    plugins_option,
    quiet_option,
)
from runtime.core.errors import UsageProblem

_ACQUIRE = examples(
    'replan acquire market_size "EV charging stations in Portugal" --docs market/ -o report.md',
    'replan acquire cloud_cost "Photo archive" --docs prices/ --set core.provider_region="Acme, Dublin"',
    "replan acquire market_size --explain",
)


@click.command(epilog=_ACQUIRE, short_help="Fill a schema by searching, asking and calculating.")
@click.argument("profile")
@click.argument("goal", required=False)
@click.option("--docs", metavar="FOLDER", help="A folder of text, Markdown, HTML and CSV files to search.")
@click.option("--set", "given", multiple=True, metavar="PATH=VALUE", help="A value that you know; may be given again.")
@click.option("--explain", is_flag=True, help="Print where each field comes from, and run nothing.")
@click.option("-o", "--output", metavar="FILE", help="Write the report to this file, as Markdown.")
@click.option("-m", "--model", help=f"{GRAMMAR}; default: REPLAN_MODEL, else rules.")
@limit_options
@click.option(
    "--grace", type=click.FloatRange(min=0), metavar="S", help="After Ctrl-C, wait at most S seconds for replies."
)
@click.option("--detach", is_flag=True, help="Let a host drive the run, and return at once.")
@placement_options
@plugins_option
@no_input_option
@quiet_option
@json_option
@common
@click.pass_obj
def acquire(
    invocation: Invocation,
    /,
    profile: str,
    goal: str | None,
    *,
    docs: str | None,
    given: tuple[str, ...],
    explain: bool,
    output: str | None,
    model: str | None,
    grace: float | None,
    detach: bool,
    no_input: bool,
    as_json: bool,
    **values: Any,
) -> int:
    """Fill the schema of a PROFILE, a shipped name or a file, for a GOAL in words, or - for standard input.

    Documents are searched for each value, you are asked for what they do not state, and the results are calculated.
    Every value has its source and the words that state it. Without --docs, the search service of the config file is
    asked, where one is set.
    """
    if detach and output is not None:
        hint = "leave -o out, and use `replan export` when the run has ended"
        raise UsageProblem("a run that is detached has no report yet", place="-o", hint=hint)
    from replan.cli.commands.acquire import Acquire, acquire_values, explain_profile, given_of, goal_of

    if explain:
        return explain_profile(profile, as_json=as_json)
    if goal is None:
        raise UsageProblem("no goal is given", place="GOAL", hint="say in words what the schema is to be filled for")
    from actors.acquisition.prepare import AcquisitionInput

    wish = AcquisitionInput(profile, goal_of(goal), given=given_of(given), limits=split_limits(values))
    request = Acquire(wish, docs, model, output, detach=detach)
    return acquire_values(invocation, request, no_input=no_input, as_json=as_json, grace=grace)
