"""`tune`: races workflows, policies and budgets, and writes the best as a workflow file."""

import os
from functools import partial
from pathlib import Path

from actors.values.format import counted
from actors.values.lines import line
from replan.cli.commands.experiment import print_rows, run_trials_of
from replan.cli.exits import Exit
from replan.cli.options import Invocation
from replan.cli.plugins import registry_of
from replan.cli.terminal.console import notice, out, print_json, rich_text
from replan.experiments.preparation import Installation
from replan.experiments.scorecard import Cell, rounded
from replan.setup.data_files import data_root
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config
from replan.tuning.entrants import CAPS, POLICIES, WORKFLOWS, entrants
from replan.tuning.halving import Standing, difference
from replan.tuning.race import Race, RaceOrder
from replan.tuning.tuned_files import check_target, write_tuned
from runtime.core.clock import SystemClock
from runtime.core.cost import MICRO
from runtime.core.errors import UsageProblem


def race_for(
    invocation: Invocation,
    problems: tuple[str, ...],
    *,
    model: str,
    limit: tuple[int | None, float | None],
    workflows: tuple[str, ...],
    policies: tuple[str, ...],
    caps: tuple[int, ...],
    out: str,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Run a race, write its winner, and print the standings. Return the exit code."""
    target, root = Path(out), data_root()
    check_target(target)
    config = read_user_config(locate_home().config)
    installation = Installation(registry_of(invocation), root, config, os.environ, SystemClock().now())
    raced = entrants(workflows or WORKFLOWS, policies or POLICIES, root)
    folder = target.with_suffix(".race")
    order = RaceOrder(problems, model, *limit, tuple(dict.fromkeys(caps or CAPS)), folder)
    race = Race(order, raced)
    race.run(installation, partial(run_trials_of, jobs=jobs), notice)
    winner = race.winner
    if winner is None:
        raise UsageProblem(race.stopped, place="tune race", hint="allow more, or name fewer entrants")
    best = next(each for each in raced if each.name == winner.entrant)
    comments = list(_comments(race, winner))
    write_tuned(target, "race", comments, best.text(winner.cap))
    if race.stopped:
        notice(f"the race ended early: {race.stopped}; {target} has the best so far")
    if as_json:
        print_json(_object(race, winner, target))
    else:
        _print(race, winner, target)
    return Exit.BUDGET if race.stopped else Exit.OK


def _comments(race: Race, winner: Standing) -> list[str]:
    """Return what the file rests on, a line each."""
    low, high = winner.interval
    order, share = race.order, winner.successes / winner.trials
    shown = [
        f"{winner.entrant} with at most {counted(winner.cap, 'call')} was the best of a race on {order.model}.",
        (
            f"Success: {winner.successes} of {counted(winner.trials, 'trial')} ({share:.1%}, "
            f"95 % interval {low:.1%} to {high:.1%}), {winner.calls_mean:.1f} calls on average."
        ),
        "It was chosen by these trials, so expect a little less on other problems.",
    ]
    if race.runner_up is not None:
        ahead, (low, high) = _against(race, winner, race.runner_up)
        shown.append(
            f"Against {race.runner_up.entrant} within {race.runner_up.cap}, paired: {100 * ahead:+.1f} points "
            f"({100 * low:+.1f} to {100 * high:+.1f})."
        )
    shown.append(
        f"The race used {counted(race.calls, 'model call')} and ${race.micro_usd / MICRO:.2f} in "
        f"{counted(race.rungs, 'rung')}{_of_limit(order)}."
    )
    if race.stopped:
        shown.append(f"It ended early: {race.stopped}.")
    return shown


def _of_limit(order: RaceOrder) -> str:
    calls = [] if order.calls is None else [counted(order.calls, "call")]
    usd = [] if order.usd is None else [f"${order.usd:.2f}"]
    return f", of {' and '.join([*calls, *usd])} allowed"


def _against(race: Race, winner: Standing, other: Standing) -> tuple[float, tuple[float, float]]:
    return difference(race.curves[winner.entrant], winner.cap, race.curves[other.entrant], other.cap)


def _rows(race: Race) -> list[dict[str, Cell]]:
    """Return all standings, those of the last rung first."""
    return [
        {
            "entrant": row.entrant,
            "cap": row.cap,
            "trials": row.trials,
            "success": rounded(row.successes / row.trials),
            "success_low": rounded(row.interval[0]),
            "success_high": rounded(row.interval[1]),
            "calls_mean": rounded(row.calls_mean),
        }
        for row in (*race.rows, *race.dropped)
    ]


def _object(race: Race, winner: Standing, target: Path) -> dict[str, object]:
    """Return what `--json` prints."""
    other = race.runner_up
    ahead = None
    if other is not None:
        share, (low, high) = _against(race, winner, other)
        ahead = {
            "entrant": other.entrant,
            "cap": other.cap,
            "delta_success": rounded(share),
            "delta_low": rounded(low),
            "delta_high": rounded(high),
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


def _print(race: Race, winner: Standing, target: Path) -> None:
    print_rows(_rows(race))
    for text in _comments(race, winner):
        out().print(rich_text(line(text)))
    out().print(rich_text(line(f"Written: {target}")))
