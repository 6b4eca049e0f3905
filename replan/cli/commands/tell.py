"""`tell`: posts a note, a requirement or a correction to a run."""

import json

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from replan.cli.run_options import require_one_run, run_argument
from runtime.core.errors import UsageProblem

_TELL = examples(
    "replan tell k7m2x9qa 'The nightly build is the slow one'",
    "replan tell k7m2x9qa 'market.customers=300000'  # a value of an acquisition, also after its end",
    "replan tell --last --as requirement 'It must run without a network'",
)


@click.command(epilog=_TELL)
@run_argument()
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
    import trio

    from replan.cli.inputs import MESSAGE_BYTES_MAX, read_stdin

    body = read_stdin(MESSAGE_BYTES_MAX) if text == "-" else text
    return trio.run(_tell, invocation, run_id, body, kind, as_json)


async def _tell(invocation: Invocation, name: str | None, text: str, kind: str, as_json: bool) -> int:
    from replan.cli.commands.answer import report_posted
    from replan.cli.hints import say_how_to_resume
    from replan.cli.home import opened
    from replan.cli.reading import named_or_newest
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import print_json

    async with opened(invocation) as engine:
        run = await named_or_newest(engine, name)
        posted = await engine.tell(run, text, kind)
        row = await engine.journal.row(run)
        hosted = await engine.hosted(row.kind, row.format)
    kind = json.loads(posted.body)["kind"]
    if kind == "value":
        notice(f"run {run} has the value; it calculates anew")
        if row.owner is None:
            say_how_to_resume(run)
    else:
        effect = "the next prompt shows it" if kind == "note" else "the run goes back for it"
        report_posted(f"run {run} has the {kind}; {effect}", row, hosted=hosted)
    if as_json:
        print_json({"run_id": run, "kind": kind, "result": posted.result})
    return Exit.OK
