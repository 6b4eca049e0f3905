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
_BELIEF = examples("replan tune belief", "replan tune belief --policy mine.yaml --out tuned_belief.yaml --json")
_ALL = examples(
    "replan tune race problems/ -m qwen3:8b --max-calls 2000",
    "replan run problem.md -w tuned.yaml",
    "replan tune belief",
)


@click.group(epilog=_ALL)
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


@tune.command(epilog=_BELIEF)
@click.option(
    "-p",
    "--policy",
    default="belief",
    show_default=True,
    metavar="NAME",
    shell_complete=complete_policy,
    help="The belief policy whose values count as 50 runs.",
)
@click.option("--out", default="tuned_belief.yaml", show_default=True, metavar="FILE", help="The policy file to write.")
@json_option
@common
@click.pass_obj
def belief(invocation: Invocation, *, policy: str, out: str, as_json: bool) -> int:
    """Estimate a belief policy from the recorded runs of this home.

    The shares of causes and the chances of each step come from half of the runs; the other half judges them. A policy
    is written only if it predicts their failures better by more than two standard errors. Nothing is asked of a model.
    A run that cannot be read is named and left out. Exit 3: nothing was written.
    """
    from pathlib import Path

    from replan.cli.tuning_belief import belief_for

    return belief_for(invocation, policy, Path(out), as_json=as_json)
