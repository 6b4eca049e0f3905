"""`lab race`: compares workflows, policies and budgets in a race, and writes the best one as a workflow file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replan.cli.completing import complete_policy, complete_workflow
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option, plugins_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan_lab.experiments.tables import Table
    from replan_lab.tuning.race import EntrantStanding, Race, RaceOrder


_RACE = examples(
    "replan lab race problems/ -m qwen3:8b --max-calls 2000",
    "replan lab race problems.jsonl -m gpt-5-mini --max-cost 5 -w single -w search",
    "replan run problem.md -w tuned.yaml",
)


@click.command(epilog=_RACE)
@click.argument("problems", metavar="PROBLEM...", nargs=-1, required=True)
@click.option("-m", "--model", metavar="MODEL", help="The model; no default, because a race makes many calls.")
@click.option("--max-calls", type=click.IntRange(min=1), metavar="N", help="The most model calls for the whole race.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True, max=10**9),
    metavar="USD",
    help="The most dollars for the whole race; the model's price must be known.",
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
    help="The most calls for one run; may be given several times. Default: 10, 20 and 30.",
)
@click.option("--out", default="tuned.yaml", show_default=True, metavar="FILE", help="The workflow file to write.")
@click.option("--jobs", type=click.IntRange(min=1, max=256), help="Processes for simulated trials; default: all cores.")
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

    A PROBLEM is a file, a .jsonl file with one problem per line, or a folder. All entrants plan the same problems with
    the same seeds; the better half enters the next rung. The race never uses more than its limit, and never calls a
    model that you have not named. Results are stored in a folder beside FILE. After an interruption, the same command
    continues. Exit 5: the limit was reached while several entrants were left; FILE then has the best one so far.
    """
    if not model:
        raise UsageProblem("no model is named", place="--model", hint="a race calls a model only if you name it")
    from replan.cli.home import registry_of
    from replan.cli.terminal.console import notice, print_json
    from replan.setup.installation import data_root
    from replan_lab.commands.experiment import run_trials_of
    from replan_lab.experiments.preparation import Installation
    from replan_lab.tuning.model_profile import check_target, write_tuned
    from replan_lab.tuning.race import CAPS, POLICIES, WORKFLOWS, Race, RaceOrder, entrants

    target, root = Path(out), data_root()
    check_target(target)
    installation = Installation.here(registry_of(invocation))
    raced = entrants(workflows or WORKFLOWS, policies or POLICIES, root)
    folder = target.with_suffix(".race")
    order = RaceOrder(problems, model, max_calls, max_cost, tuple(dict.fromkeys(caps or CAPS)), folder)
    race = Race(order, raced)
    race.run(installation, partial(run_trials_of, jobs=jobs), notice)
    winner = race.winner
    if winner is None:
        raise UsageProblem(race.stopped, place="lab race", hint="raise the limit, or name fewer entrants")
    best = next(item for item in raced if item.name == winner.entrant)
    comments = list(_comments(race, winner))
    write_tuned(target, "lab race", comments, best.text(winner.cap))
    if race.stopped:
        notice(f"the race ended early: {race.stopped}; the best settings so far are in {target}")
    if as_json:
        print_json(_object(race, winner, target))
    else:
        _print(race, winner, target)
    return Exit.BUDGET if race.stopped else Exit.OK


def _comments(race: Race, winner: EntrantStanding) -> list[str]:
    from actors.values.format import format_count
    from runtime.core.ledger import MICRO

    low, high = winner.interval
    order, share = race.order, winner.successes / winner.trials
    shown = [
        f"{winner.entrant} with at most {format_count(winner.cap, 'call')} won a race on {order.model}.",
        (
            f"Success: {winner.successes} of {format_count(winner.trials, 'trial')} ({share:.1%}, "
            f"95 % interval {low:.1%} to {high:.1%}), {winner.calls_mean:.1f} calls on average."
        ),
        "The winner was chosen by these trials, so expect a little less success on other problems.",
    ]
    if race.runner_up is not None:
        ahead, (low, high) = _against(race, winner, race.runner_up)
        shown.append(
            f"Paired difference to {race.runner_up.entrant} with at most {race.runner_up.cap} calls: "
            f"{100 * ahead:+.1f} points (95 % interval {100 * low:+.1f} to {100 * high:+.1f})."
        )
    shown.append(
        f"The race used {format_count(race.calls, 'model call')} and ${race.micro_usd / MICRO:.2f} in "
        f"{format_count(race.rungs, 'rung')}{_of_limit(order)}."
    )
    if race.stopped:
        shown.append(f"The race ended early: {race.stopped}.")
    return shown


def _of_limit(order: RaceOrder) -> str:
    from actors.values.format import format_count

    calls = [] if order.calls is None else [format_count(order.calls, "call")]
    usd = [] if order.usd is None else [f"${order.usd:.2f}"]
    return f", of {' and '.join([*calls, *usd])} allowed"


def _against(race: Race, winner: EntrantStanding, other: EntrantStanding) -> tuple[float, tuple[float, float]]:
    from replan_lab.tuning.race import difference

    return difference(race.curves[winner.entrant], winner.cap, race.curves[other.entrant], other.cap)


def _rows(race: Race) -> Table:
    from replan_lab.experiments.tables import round_value

    return [
        {
            "entrant": row.entrant,
            "cap": row.cap,
            "trials": row.trials,
            "success": round_value(row.successes / row.trials),
            "success_low": round_value(row.interval[0]),
            "success_high": round_value(row.interval[1]),
            "calls_mean": round_value(row.calls_mean),
        }
        for row in (*race.rows, *race.dropped)
    ]


def _object(race: Race, winner: EntrantStanding, target: Path) -> dict[str, object]:
    from replan_lab.experiments.tables import round_value
    from runtime.core.ledger import MICRO

    other = race.runner_up
    ahead = None
    if other is not None:
        share, (low, high) = _against(race, winner, other)
        ahead = {
            "entrant": other.entrant,
            "cap": other.cap,
            "delta_success": round_value(share),
            "delta_low": round_value(low),
            "delta_high": round_value(high),
        }
    return {
        "file": str(target),
        "folder": str(race.order.folder),
        "winner": _rows(race)[0],
        "runner_up": ahead,
        "standings": _rows(race),
        "rungs": race.rungs,
        "calls": race.calls,
        "cost_usd": race.micro_usd / MICRO,
        "stopped": race.stopped or None,
    }


def _print(race: Race, winner: EntrantStanding, target: Path) -> None:
    from actors.values.lines import line
    from replan.cli.terminal.console import out, rich_text
    from replan_lab.commands.experiment import print_rows

    print_rows(_rows(race))
    for text in _comments(race, winner):
        out().print(rich_text(line(text)))
    out().print(rich_text(line(f"Written: {target}")))
