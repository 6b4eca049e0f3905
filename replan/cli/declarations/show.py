"""The options, arguments and help of `show`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, full_option, json_option, require_one_run
from runtime.core.errors import UsageProblem

_SHOW = examples(
    "replan show --last                 what the newest run has come to",
    "replan show k7m2x9qa --tree        why the search went where it went",
    "replan show k7m2x9qa --prompt g_plan/v1.a1",
    "replan show k7m2x9qa --mermaid     the plan as a drawing",
    "replan show k7m2x9qa --json | jq .path",
)


@click.command(epilog=_SHOW)
@click.argument("run_id", metavar="RUN|--last", shell_complete=complete_run, required=False)
@click.option("--last", is_flag=True, help="The newest run.")
@click.option("--tree", is_flag=True, help="Every attempt, and the reason of every step back.")
@click.option("--plan", is_flag=True, help="The proved plan alone.")
@click.option("--mermaid", is_flag=True, help="The proved plan as Mermaid text.")
@click.option("--prompt", metavar="NODE", help="The messages that an attempt got, such as g_plan/v1.a1.")
@click.option("--events", is_flag=True, help="Every record.")
@full_option
@json_option
@common
@click.pass_context
def show(
    ctx: click.Context, /, run_id: str | None, *, last: bool, prompt: str | None, as_json: bool, **views: bool
) -> int:
    """Show what a RUN has come to; RUN is its id, or at least six characters of it."""
    require_one_run("show", run_id, last=last)
    chosen_views = [name for name in ("tree", "plan", "mermaid", "events") if views[name]]
    if prompt is not None:
        chosen_views.append("prompt")
    if len(chosen_views) > 1:
        places = " and ".join(f"--{name}" for name in chosen_views)
        raise UsageProblem("these are different views of a run", place=places, hint="ask for one of them")
    view = chosen_views[0] if chosen_views else "result"
    if as_json and view == "mermaid":
        raise UsageProblem("Mermaid text is no JSON", place="--mermaid", hint="leave one of the two out")
    invocation = ctx.find_object(Invocation)
    assert invocation is not None
    if prompt is not None:
        from replan.cli.prompt_view import show_prompt

        return show_prompt(invocation, run_id, prompt, as_json=as_json)
    from replan.cli.commands.show import show_run

    return show_run(invocation, run_id, view, as_json=as_json)
