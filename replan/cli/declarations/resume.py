"""The options, arguments and help of `resume`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import (
    Duration,
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
@click.option("--max-calls", type=int, metavar="N", help="Model calls at most, those already made included.")
@click.option("--max-tokens", type=int, metavar="N", help="Tokens at most, those already used included.")
@click.option("--max-cost", type=float, metavar="USD", help="Dollars at most, those already spent included.")
@click.option("--deadline", type=Duration(), help="End the run after 30s, 15m, 2h, 1d from now.")
@click.option("--active-time", type=Duration(), help="Limit how long models and guards work, over the whole run.")
@click.option("--patience", type=Duration(), help="Wait at most this long for a provider that is down, such as 10m.")
@click.option("--stop-below", type=float, metavar="P", help="Policy belief: the least chance per call of a move.")
@click.option(
    "--keep-trying", is_flag=True, help="Go on where no move is worth its calls, or the model repeats itself."
)
@click.option("--strict", is_flag=True, help="Reject plans that leave a demand of the text in no step, from now on.")
@click.option("--timeout", type=float, metavar="S", help="Seconds that a model call may take from now on.")
@click.option("--output-tokens", type=int, metavar="N", help="Tokens of one reply at most from now on, for every step.")
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
    run_id: str | None,
    *,
    last: bool,
    model: str | None,
    max_calls: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    deadline: float | None,
    active_time: float | None,
    patience: float | None,
    stop_below: float | None,
    keep_trying: bool,
    strict: bool,
    timeout: float | None,
    output_tokens: int | None,
    grace: float | None,
    no_input: bool,
    as_json: bool,
) -> int:
    """Go on with a RUN where its journal ends; RUN is its id, or at least six characters of it.

    Replies in the journal are not asked for again. A run whose budget is used up goes on only with larger limits; a run
    that has failed needs no option. If the run waits for its provider, the provider is asked at once. If nothing can
    follow, the result of the run is printed.
    """
    require_one_run("resume", run_id, last=last)
    from replan.cli.commands.resume import resume_run
    from replan.runs.changes import Changes

    changes = Changes(
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost_usd=max_cost,
        deadline_seconds=deadline,
        active_seconds=active_time,
        patience_seconds=patience,
        stop_below=stop_below,
        keep_trying=keep_trying,
        strict=strict,
        timeout_seconds=timeout,
        output_tokens=output_tokens,
        model=model,
    )
    return resume_run(invocation, run_id, changes, grace=grace, no_input=no_input, as_json=as_json)
