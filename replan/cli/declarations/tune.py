"""The options, arguments and help of the commands of `tune`."""

import click

from replan.cli.completing import complete_policy, complete_workflow
from replan.cli.options import Invocation, common, examples, json_option, plugins_option
from runtime.core.errors import UsageProblem

_RACE = examples(
    "replan tune race problems/ -m qwen3:8b --max-calls 2000",
    "replan tune race problems.jsonl -m gpt-5-mini --max-cost 5 -w single -w search",
    "replan run problem.md -w tuned.yaml",
)


@click.group(epilog=_RACE)
@common
def tune() -> None:
    """Find the settings that suit your problems and your model."""


@tune.command(epilog=_RACE)
@click.argument("problems", metavar="PROBLEM...", nargs=-1, required=True)
@click.option("-m", "--model", metavar="MODEL", help="The model; there is no default, since a race asks it often.")
@click.option("--max-calls", type=click.IntRange(min=1), metavar="N", help="Model calls of the whole race at most.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True, max=10**9),
    metavar="USD",
    help="Dollars of the whole race at most; the model's price must be known.",
)
@click.option(
    "-w",
    "--workflow",
    "workflows",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_workflow,
    help="A workflow to race; may be given several times. Default: single, option_ad and search.",
)
@click.option(
    "-p",
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_policy,
    help="A policy to race each workflow with; may be given several times. Default: default and belief.",
)
@click.option(
    "--cap",
    "caps",
    multiple=True,
    type=click.IntRange(min=1, max=10**6),
    metavar="N",
    help="A limit of the calls of one run; may be given several times. Default: 10, 20 and 30.",
)
@click.option("--out", default="tuned.yaml", show_default=True, metavar="FILE", help="The workflow file to write.")
@click.option("--jobs", type=click.IntRange(min=1, max=256), help="Processes for simulated trials; default: the cores.")
@plugins_option
@json_option
@common
@click.pass_obj
def race(
    invocation: Invocation,
    problems: tuple[str, ...],
    *,
    model: str | None,
    max_calls: int | None,
    max_cost: float | None,
    workflows: tuple[str, ...],
    policies: tuple[str, ...],
    caps: tuple[int, ...],
    out: str,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Race workflows, policies and budgets on your problems, and write the best as a workflow file.

    A PROBLEM is a file, a .jsonl file with one problem per line, or a folder. All are tried on the same problems and
    seeds; the better half stays for the next rung. The race never uses more than its limit, and never asks a model that
    you have not named. Results are kept in FILE's folder beside it, so that the same command goes on after an
    interruption. Exit 5: the limit was reached before one was left; what is known then is written.
    """
    if not model:
        raise UsageProblem("no model is named", place="--model", hint="a race asks a model only if you name it")
    if max_calls is None and max_cost is None:
        hint = "--max-calls N or --max-cost USD bounds the whole race"
        raise UsageProblem("a race needs a limit", place="tune race", hint=hint)
    from replan.cli.commands.tune import race_for

    return race_for(
        invocation,
        problems,
        model=model,
        limit=(max_calls, max_cost),
        workflows=workflows,
        policies=policies,
        caps=caps,
        out=out,
        jobs=jobs,
        as_json=as_json,
    )
