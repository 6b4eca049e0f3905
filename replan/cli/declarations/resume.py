"""The options, arguments and help of `resume`."""

from typing import Any

import click

from actors.run.limits import split_limits
from replan.cli.completing import complete_run
from replan.cli.limit_options import limit_options
from replan.cli.options import (
    Invocation,
    common,
    examples,
    full_option,
    json_option,
    no_input_option,
    plugins_option,
    quiet_option,
    require_one_run,
)

_RESUME = examples(
    "replan resume --last",
    "replan resume k7m2x9qa --no-input --json",
    "replan resume k7m2x9qa --max-calls 60 --deadline 2h",
    "replan resume k7m2x9qa -m gpt-5-mini",
)


@click.command(epilog=_RESUME, short_help="Go on with a run, with other limits or another model.")
@click.argument("run_id", metavar="RUN|--last", shell_complete=complete_run, required=False)
@click.option("--last", is_flag=True, help="The newest run that can be gone on with.")
@click.option("-m", "--model", help="Another model from now on.")
@limit_options
@click.option("--strict", is_flag=True, help="Reject plans that leave a demand of the text in no step, from now on.")
@click.option(
    "--grace", type=click.FloatRange(min=0), metavar="S", help="After Ctrl-C, wait at most S seconds for replies."
)
@plugins_option
@no_input_option
@full_option
@quiet_option
@json_option
@common
@click.pass_obj
def resume(
    invocation: Invocation,
    /,
    run_id: str | None,
    *,
    last: bool,
    model: str | None,
    strict: bool,
    grace: float | None,
    no_input: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Go on with a RUN where its journal ends; RUN is its id, or at least six characters of it.

    Replies in the journal are not asked for again. A run whose budget is used up goes on only with larger limits; a run
    that has failed needs no option. If the run waits for its provider, the provider is asked at once. If nothing can
    follow, the result of the run is printed.

    Limits hold for the whole run: what was used already counts. The deadline counts from now.
    """
    require_one_run("resume", run_id, last=last)
    from replan.cli.commands.resume import resume_run
    from replan.runs.changes import Changes

    changes = Changes(split_limits(limits), model, strict)
    return resume_run(invocation, run_id, changes, grace=grace, no_input=no_input, as_json=as_json)
