"""`cancel`: ends a run for good."""

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from replan.cli.run_options import require_one_run, run_argument
from replan.setup.command_name import program


@click.command(epilog=examples("replan cancel k7m2x9qa", "replan cancel --last"))
@run_argument()
@json_option
@common
@click.pass_obj
def cancel(invocation: Invocation, run_id: str | None, *, last: bool, as_json: bool) -> int:
    """Cancel a RUN for good. What it has found is kept; parking (Ctrl-C) is the way to go on later."""
    require_one_run("cancel", run_id, last=last)
    import trio

    return trio.run(_cancel, invocation, run_id, as_json)


async def _cancel(invocation: Invocation, name: str | None, as_json: bool) -> int:
    from replan.cli.home import opened
    from replan.cli.reading import named_or_newest
    from replan.cli.terminal.console import notice, print_json
    from replan.runs import cancelling

    async with opened(invocation) as engine:
        run = await named_or_newest(engine, name)
        finished = await cancelling.cancel_run(engine, run)
    waits = f"is cancelled once the process driving it takes the message; `{program()} show {run}` shows how it ends"
    notice(f"run {run} {'is cancelled' if finished else waits}")
    if as_json:
        print_json({"run_id": run, "cancelled": finished})
    return Exit.OK
