"""The options, arguments and help of `tell`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, json_option, require_one_run
from runtime.core.errors import UsageProblem

_TELL = examples(
    "replan tell k7m2x9qa 'The nightly build is the slow one'",
    "replan tell k7m2x9qa 'market.customers=300000'  # a value of an acquisition, also after its end",
    "replan tell --last --as requirement 'It must run without a network'",
)


@click.command(epilog=_TELL)
@click.argument("run_id", metavar="RUN|--last", shell_complete=complete_run, required=False)
@click.option("--last", is_flag=True, help="The newest run.")
@click.argument("text", required=False)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["note", "requirement"]),
    default="note",
    show_default=True,
    help="A note stands in later prompts; a requirement changes what is asked for, and acts at once.",
)
@json_option
@common
@click.pass_obj
def tell(invocation: Invocation, run_id: str | None, text: str | None, *, last: bool, kind: str, as_json: bool) -> int:
    """Tell a RUN something of your own accord: TEXT, or standard input for -.

    In an acquisition, FIELD=VALUE corrects a value, also after a success: the run goes on with it.

    Works at any time before the run ends, whether or not a process drives it, and is durable when it returns.
    """
    if last and text is None:
        run_id, text = None, run_id
    require_one_run("tell", run_id, last=last)
    if text is None:
        raise UsageProblem(
            "there is nothing to tell", place="TEXT", hint="`replan tell RUN TEXT`, or - to read it from a pipe"
        )
    from replan.cli.commands.tell import tell_run

    return tell_run(invocation, run_id, text, kind, as_json=as_json)
