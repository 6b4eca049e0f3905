"""The options, arguments and help of `check`."""

import click

from replan.cli.options import Invocation, common, examples
from runtime.core.errors import UsageProblem

_CHECK = examples(
    "replan check plan.json",
    "replan check plan.json --level expansive --json",
    "replan check plans/*.json more.jsonl --jsonl | jq -c 'select(.valid | not)'",
    "replan run problem.md --json | jq .plan | replan check -",
)


@click.command(epilog=_CHECK)
@click.argument("files", metavar="PLAN...", nargs=-1, required=True)
@click.option(
    "--level",
    type=click.Choice(["minimal", "medium", "expansive"]),
    default="medium",
    show_default=True,
    help="The form; the run in which nothing fails; all traces of failures.",
)
@click.option(
    "--assurance",
    type=click.Choice(["strong", "strong_cyclic", "weak"]),
    help="What expansive asks of the traces that do not escalate; default: strong_cyclic.",
)
@click.option("--r-max", type=click.IntRange(min=1), default=100, show_default=True, help="The largest total budget.")
@click.option(
    "--guard",
    "guards",
    multiple=True,
    metavar="NAME",
    help="A guard name that steps may use beside the 17 default ones.",
)
@click.option("--json", "as_json", is_flag=True, help="An object for one plan, else an array of them.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="An object per line and plan.")
@common
@click.pass_obj
def check(
    invocation: Invocation,
    files: tuple[str, ...],
    *,
    level: str,
    assurance: str | None,
    r_max: int,
    guards: tuple[str, ...],
    as_json: bool,
    as_jsonl: bool,
) -> int:
    """Check plans without a model: no run, no home.

    A PLAN is a file, or - for standard input; a .jsonl file has a plan, or an object with a `plan` key, per line.
    Exit 0: all valid; 3: some rejected; 2: some unreadable.
    """
    if as_json and as_jsonl:
        raise UsageProblem("both --json and --jsonl are given", place="--jsonl", hint="leave one out")
    if assurance is not None and level != "expansive":
        hint = "add --level expansive"
        raise UsageProblem(f"the level {level} looks at no failures", place="--assurance", hint=hint)
    from replan.cli.commands.check import check_files
    from replan.service.checking import Standard

    standard = Standard(level=level, assurance=assurance or "strong_cyclic", r_max=r_max, guard_catalog=guards)
    form = "json" if as_json else "jsonl" if as_jsonl else "text"
    return check_files(invocation, files, standard, form)
