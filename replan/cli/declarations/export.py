"""The options, arguments and help of `export`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, json_option, require_one_run

_EXPORT = examples(
    "replan export --last -o plan.md",
    "replan export k7m2x9qa --format github-checklist | gh issue create -t 'The plan' -F -",
    "replan export --last --format mermaid -o plan.mmd",
    "replan export --last -o plan.json && replan check plan.json",
)


@click.command(epilog=_EXPORT, short_help="Write the plan of a run to a file.")
@click.argument("run_id", metavar="RUN|--last", shell_complete=complete_run, required=False)
@click.option("--last", is_flag=True, help="The newest run.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json", "github-checklist", "mermaid"]),
    help="What to write; default: by the name of the file, else markdown.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Where to write it; default: standard output.")
@json_option
@common
@click.pass_obj
def export(
    invocation: Invocation, run_id: str | None, *, last: bool, form: str | None, output: str, as_json: bool
) -> int:
    """Write the proved plan of a RUN in a form for other programs and people. A file is replaced."""
    require_one_run("export", run_id, last=last)
    from replan.cli.commands.export import export_plan

    return export_plan(invocation, run_id, form, output, as_json=as_json)
