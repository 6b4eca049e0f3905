"""The options, arguments and help of `show`."""

import click

from replan.cli.options import Invocation, common, examples, json_option, require_one_run
from runtime.core.errors import UsageProblem

_SHOW = examples(
    "replan show --last                 what the newest run has come to",
    "replan show k7m2x9qa --tree        why the search went where it went",
    "replan show k7m2x9qa --mermaid     the plan as a drawing",
    "replan show k7m2x9qa --json | jq .path",
)


@click.command(epilog=_SHOW)
@click.argument("run_id", metavar="RUN|--last", required=False)
@click.option("--last", is_flag=True, help="The newest run.")
@click.option("--tree", is_flag=True, help="Every attempt, and the reason of every step back.")
@click.option("--plan", is_flag=True, help="The proved plan alone.")
@click.option("--mermaid", is_flag=True, help="The proved plan as Mermaid text.")
@click.option("--events", is_flag=True, help="Every record.")
@json_option
@common
@click.pass_context
def show(ctx: click.Context, /, run_id: str | None, *, last: bool, as_json: bool, **views: bool) -> int:
    """Show what a RUN has come to; RUN is its id, or at least six characters of it."""
    require_one_run("show", run_id, last=last)
    wanted = [name for name in ("tree", "plan", "mermaid", "events") if views[name]]
    if len(wanted) > 1:
        places = " and ".join(f"--{name}" for name in wanted)
        raise UsageProblem("these are different views of a run", place=places, hint="ask for one of them")
    view = wanted[0] if wanted else "result"
    if as_json and view == "mermaid":
        raise UsageProblem("Mermaid text is no JSON", place="--mermaid", hint="leave one of the two out")
    from replan.cli.commands.show import show_run

    invocation = ctx.find_object(Invocation)
    assert invocation is not None
    return show_run(invocation, run_id, view, as_json=as_json)
