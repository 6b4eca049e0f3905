"""`runs`, `show` and `log`: what they take. What they print is made in `replan.cli.listing`."""

import click

from replan.cli.options import Duration, Invocation, common, examples, json_option, one_run
from runtime.core.errors import UsageProblem

_SHOW = examples(
    "replan show --last                 what the newest run has come to",
    "replan show k7m2x9qa --tree        why the search went where it went",
    "replan show k7m2x9qa --mermaid     the plan as a drawing",
    "replan show k7m2x9qa --json | jq .path",
)


@click.command(
    epilog=examples(
        "replan runs", "replan runs --waiting --older-than 1h", "replan runs --json | jq -r '.runs[].run_id'"
    )
)
@click.option("--waiting", is_flag=True, help="Only the runs that wait for an answer.")
@click.option("--older-than", type=Duration(), metavar="TIME", help="With --waiting: for longer than 30m, 1h, 2d.")
@json_option
@common
@click.pass_obj
def runs(invocation: Invocation, *, waiting: bool, older_than: float | None, as_json: bool) -> int:
    """List the runs, the newest first."""
    if older_than is not None and not waiting:
        raise UsageProblem("this is for runs that wait", place="--older-than", hint="add --waiting")
    from replan.cli.listing import list_runs

    return list_runs(invocation, waiting=waiting, older_than=older_than, as_json=as_json)


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
    one_run("show", run_id, last=last)
    wanted = [name for name in ("tree", "plan", "mermaid", "events") if views[name]]
    if len(wanted) > 1:
        places = " and ".join(f"--{name}" for name in wanted)
        raise UsageProblem("these are different views of a run", place=places, hint="ask for one of them")
    view = wanted[0] if wanted else "result"
    if as_json and view == "mermaid":
        raise UsageProblem("Mermaid text is no JSON", place="--mermaid", hint="leave one of the two out")
    from replan.cli.listing import show_run

    invocation = ctx.find_object(Invocation)
    assert invocation is not None
    return show_run(invocation, run_id, view, as_json=as_json)


@click.command(epilog=examples("replan log k7m2x9qa", "replan log --last --follow"))
@click.argument("run_id", metavar="RUN|--last", required=False)
@click.option("--last", is_flag=True, help="The newest run.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run comes to rest.")
@common
@click.pass_obj
def log(invocation: Invocation, run_id: str | None, *, last: bool, follow: bool) -> int:
    """Print the records of a RUN, a line each."""
    one_run("log", run_id, last=last)
    from replan.cli.listing import log_run

    return log_run(invocation, run_id, follow=follow)
