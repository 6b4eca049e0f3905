"""`lab profile`: measures a model on shipped tasks, and finds the best settings in a simulation of the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from actors.planning.events import PlanningEvent
    from replan_lab.experiments.preparation import PreparedExperiment
    from replan_lab.experiments.results import ResultsFolder, Trial
    from replan_lab.experiments.tables import Table
    from replan_lab.tuning.model_profile import Fit, Measures, Preference

_PROFILE = examples(
    "replan lab profile -m qwen3:8b --max-calls 600",
    "replan lab profile -m gpt-5-mini --max-cost 2 --tasks 30",
    "replan lab profile -m smollm2 --max-calls 360 --compact --output-tokens-max 400",
    "replan run problem.md -m qwen3:8b -w profile.yaml",
)


@click.command(epilog=_PROFILE)
@click.option("-m", "--model", metavar="MODEL", help="The model; no default, because a profile makes many calls.")
@click.option("--max-calls", type=click.IntRange(min=1), metavar="N", help="The most model calls for all tasks.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True, max=10**9),
    metavar="USD",
    help="The most to spend on all tasks, in dollars; the model's price must be known.",
)
@click.option(
    "--tasks", type=click.IntRange(10, 60), default=60, show_default=True, metavar="N", help="How many tasks to plan."
)
@click.option("--compact", is_flag=True, help="Use the shorter prompts, for a model with a small context window.")
@click.option("--output-tokens-max", type=click.IntRange(min=1), metavar="N", help="The most tokens in one reply.")
@click.option("--out", default="profile.yaml", show_default=True, metavar="FILE", help="The workflow file to write.")
@click.option("--jobs", type=click.IntRange(min=1, max=256), help="Processes for the simulation; default: all cores.")
@json_option
@common
@click.pass_obj
def profile(
    invocation: Invocation,
    *,
    model: str | None,
    max_calls: int | None,
    max_cost: float | None,
    tasks: int,
    compact: bool,
    output_tokens_max: int | None,
    out: str,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Measure a model on shipped tasks, and write the settings that suit it.

    Each of up to 60 short problems is planned once with the workflow `search`. The command prints each step's form
    errors, and its success at the first attempt and after a finding. It also prints the mean calls and cost of a plan.
    It writes a workflow file with the settings that do best in a simulation with the model's odds. Later runs of the
    model start from its counts, which the home stores. Results are stored in a folder beside FILE. After an
    interruption, the same command continues. Exit 5: the limit was reached before all tasks were planned; the settings
    then come from the planned tasks.
    """
    if not model:
        raise UsageProblem("no model is named", place="--model", hint="a profile calls a model only if you name it")
    if max_calls is None and max_cost is None:
        hint = "limit all tasks together with --max-calls N or --max-cost USD"
        raise UsageProblem("a profile needs a limit", place="lab profile", hint=hint)
    from replan.cli.home import registry_of
    from replan.cli.terminal.console import print_json
    from replan.setup.installation import data_root
    from replan_lab.commands.experiment import run_trials_of
    from replan_lab.experiments.preparation import Installation, prepare
    from replan_lab.experiments.results import ResultsFolder
    from replan_lab.tuning.model_profile import (
        PLAN_STEP,
        call_keys,
        check_target,
        choose_settings,
        comparison_definition,
        first_tasks,
        fit_profile,
        measure_steps,
        measurement_definition,
        workflow_text,
        write_definition,
        write_tuned,
    )

    check_target(target := Path(out))
    home = _profiles_file()
    folder = target.with_suffix(".profile")
    installation = Installation.here(registry_of(invocation))
    chosen = first_tasks(folder, tasks)
    keys = call_keys(compact=compact, output_tokens=output_tokens_max)
    measured = measurement_definition(chosen, model, max_calls, max_cost, tasks, keys=keys)
    prepared = prepare(write_definition(folder, measured), installation)
    trials = run_trials_of(prepared, store := ResultsFolder(folder / "measured", prepared.header()), jobs)
    measures = measure_steps(events := _events(prepared, store), PLAN_STEP)
    comparison = comparison_definition(chosen, fit := fit_profile(measures))
    compared = prepare(write_definition(folder, comparison, fit), installation)
    store = ResultsFolder(folder / "compared", compared.header())
    preference = choose_settings(compared, run_trials_of(compared, store, jobs))
    lines = [*_about_plans(trials, tasks), *_about_settings(fit, preference)]
    write_tuned(target, "profile", [f"For {model}.", *lines], workflow_text(preference, data_root(), keys))
    value = {"model": model, "file": str(target), **_keep_counts(events, home, lines)}
    if as_json:
        print_json({**value, **_counts(trials), **_object(measures, fit, preference)})
    else:
        _print(_rows(measures), [*lines, f"Written: {target}"])
    return Exit.OK if len(trials) == len(prepared.trials) else Exit.BUDGET


def _profiles_file() -> Path:
    from actors.config.model_profiles import read_profiles
    from replan.setup.home_folder import prepare_home

    path = prepare_home().model_profiles
    read_profiles(path)
    return path


def _keep_counts(events: list[list[PlanningEvent]], path: Path, lines: list[str]) -> dict[str, object]:
    from replan_lab.tuning.model_profile import profile_from, write_profile
    from runtime.core.clock import SystemClock

    found = profile_from(events, SystemClock().now())
    if found is None:
        return {}
    model, counts = found
    write_profile(model, counts, path)
    lines.append(f"Later runs of {model} start from the counts in {path}")
    return {"counted": counts.model_dump()}


def _events(prepared: PreparedExperiment, store: ResultsFolder) -> list[list[PlanningEvent]]:
    if prepared.simulated:
        return [arm.lab_events(problem, seed) for arm, problem, seed in prepared.trials]
    import trio

    from replan_lab.experiments.live_runner import read_runs

    return trio.run(read_runs, prepared, store)


def _counts(trials: Sequence[Trial]) -> dict[str, Any]:
    from runtime.core.ledger import MICRO

    costs = [trial.micro_usd for trial in trials]
    return {
        "tasks": len(trials),
        "plans": sum(trial.passed for trial in trials),
        "calls": sum(trial.calls for trial in trials),
        "cost_usd": None if None in costs else sum(cost or 0 for cost in costs) / MICRO,
    }


def _about_plans(trials: Sequence[Trial], tasks: int) -> Iterator[str]:
    from actors.values.format import format_count
    from replan_lab.experiments.tables import wilson_interval

    _, plans, calls, cost = _counts(trials).values()
    low, high = wilson_interval(plans, len(trials))
    yield (
        f"Plans: {plans} of {format_count(len(trials), 'task')} ({plans / max(1, len(trials)):.0%}, "
        f"95 % interval {low:.0%} to {high:.0%}), in {format_count(calls, 'call')}."
    )
    if len(trials) < tasks:
        yield f"The limit was reached before {format_count(tasks - len(trials), 'more task')} could be planned."
    if plans:
        money = "" if cost is None else f" and ${cost / plans:.4f}"
        yield f"A plan takes {calls / plans:.1f} calls{money}, including the calls for tasks without a plan."


def _about_settings(fit: Fit, preference: Preference) -> Iterator[str]:
    middle, low, high = fit.first
    verdict = "helps" if low > 1 else "does harm" if high < 1 else "has no certain effect"
    yield (
        f"Feedback {verdict}: a finding multiplies the odds of a right plan by {middle:.2g} "
        f"(95 % interval {low:.2g} to {high:.2g})."
    )
    settings = preference.settings
    patience = "" if settings.patience is None else f", r_patience {settings.patience}"
    yield (
        f"Settings: workflow {settings.workflow}, policy {settings.policy}, {settings.visits} attempts at a plan in "
        f"one visit{patience}, at most {preference.cap} calls."
    )
    yield (
        f"These settings do best in {preference.worlds} of {len(fit.worlds)} simulated worlds that fit the model. "
        f"On average, they solve {preference.success:.0%} of the tasks with {preference.calls:.1f} calls each, "
        f"{100 * preference.ahead:+.1f} points against the default settings, after the price of the calls."
    )


def _rows(measures: Measures) -> Table:
    from replan_lab.experiments.tables import share_cells

    return [
        {
            "step": step.step,
            "attempts": step.attempts,
            "form_errors": step.form_errors,
            "repaired": step.repaired,
            **share_cells("at_once", step.firsts_accepted, step.firsts),
            "told": step.told,
            **share_cells("after_finding", step.told_accepted, step.told),
        }
        for step in measures.steps
    ]


def _object(measures: Measures, fit: Fit, preference: Preference) -> dict[str, object]:
    from replan_lab.experiments.tables import round_value

    middle, low, high = fit.first
    settings = preference.settings
    return {
        "steps": _rows(measures),
        "finding_factor": {"median": round_value(middle), "low": round_value(low), "high": round_value(high)},
        "settings": {
            "workflow": settings.workflow,
            "policy": settings.policy,
            "visits": settings.visits,
            "patience": settings.patience,
            "max_calls": preference.cap,
            "success": round_value(preference.success),
            "calls_mean": round_value(preference.calls),
            "ahead": round_value(preference.ahead),
            "best_in_worlds": preference.worlds,
            "worlds": len(fit.worlds),
        },
    }


def _print(rows: Table, lines: Sequence[str]) -> None:
    from actors.values.lines import line
    from replan.cli.terminal.console import out, rich_text
    from replan_lab.commands.experiment import print_rows

    print_rows(rows)
    for text in lines:
        out().print(rich_text(line(text)))
