"""`lab experiment`: runs an experiment with progress on stderr, and writes its report."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replan_lab.experiments.preparation import Installation, PreparedExperiment
    from replan_lab.experiments.results import ResultsFolder, Trial
    from replan_lab.experiments.tables import Cell, Table


_EXPERIMENT = examples(
    "replan lab experiment docs/experiments/quick.yaml",
    "replan lab experiment mine.yaml --out results/mine --json | jq '.arms[] | {arm, success}'",
)


@click.command(epilog=_EXPERIMENT)
@click.argument("file", metavar="FILE")
@click.option("--out", "results", metavar="FOLDER", help="Folder for results and report; default: experiments/NAME.")
@click.option("--jobs", type=click.IntRange(min=1, max=256), help="Processes for simulated trials; default: all cores.")
@click.option("--skip-broken", is_flag=True, help="Skip and list problems that cannot be read.")
@json_option
@common
@click.pass_obj
def experiment(
    invocation: Invocation,  # noqa: ARG001 -- every command has it
    file: str,
    *,
    results: str | None,
    jobs: int | None,
    skip_broken: bool,
    as_json: bool,
) -> int:
    """Run the experiment in a FILE, and write tables, plots and an HTML report.

    Trials with a result in the folder are not run again: after an interruption, the same command continues and writes
    the same bytes. Exit 5: the experiment's budget was spent before all trials.
    """
    from replan.cli.home import registry_of
    from replan_lab.experiments.definition import is_about_executions
    from replan_lab.experiments.preparation import Installation

    folder, path = None if results is None else Path(results), Path(file)
    installation = Installation.here(registry_of(Invocation()))
    if is_about_executions(path):
        return _run_executions(path, installation, folder, jobs, as_json=as_json)
    return _run_planning(path, installation, folder, jobs, skip_broken=skip_broken, as_json=as_json)


_SHOWN = ("arm", "trials", "guard_pass", "success", "success_low", "success_high", "calls_mean", "calls_per_success")

_SHOWN_OF_EXECUTIONS = (
    "world",
    "policy",
    "trials",
    "achieved",
    "success",
    "tool_calls_mean",
    "replans_mean",
    "questions_mean",
)


def _run_planning(
    path: Path, installation: Installation, folder: Path | None, jobs: int | None, *, skip_broken: bool, as_json: bool
) -> int:
    from replan.cli.terminal.console import notice
    from replan_lab.experiments.preparation import prepare
    from replan_lab.experiments.report import PAGE, write_report
    from replan_lab.experiments.results import ResultsFolder

    prepared = prepare(path, installation, skip_broken=skip_broken)
    for text in prepared.notices:
        notice(text)
    store = ResultsFolder(folder or _folder_of(prepared.experiment.name), prepared.header())
    trials = run_trials_of(prepared, store, jobs)
    tables = write_report(prepared, trials, store.folder)
    _print(prepared.experiment.name, store.folder, tables, _SHOWN, f"Report: {store.folder / PAGE}", as_json=as_json)
    return Exit.OK if len(trials) == len(prepared.trials) else Exit.BUDGET


def _run_executions(
    path: Path, installation: Installation, folder: Path | None, jobs: int | None, *, as_json: bool
) -> int:
    from replan.cli.terminal.console import Ticker
    from replan_lab.experiments.executions import prepare_executions
    from replan_lab.experiments.report import write_execution_report
    from replan_lab.experiments.runner import run_all

    prepared = prepare_executions(path, installation)
    with Ticker("trials") as ticker:
        trials = run_all(prepared, ticker.tick, jobs)
    name, results = prepared.experiment.name, folder or _folder_of(prepared.experiment.name)
    tables = write_execution_report(prepared.experiment, trials, results)
    _print(name, results, tables, _SHOWN_OF_EXECUTIONS, f"Tables: {results}", as_json=as_json)
    return Exit.OK


def _folder_of(name: str) -> Path:
    return Path("experiments") / name


def _print(
    name: str, folder: Path, tables: Mapping[str, Table], shown: Sequence[str], end: str, *, as_json: bool
) -> None:
    from actors.values.lines import line
    from replan.cli.terminal.console import out, print_json, rich_text

    if as_json:
        print_json({"name": name, "folder": str(folder), **tables})
    else:
        print_rows([{name: row[name] for name in shown} for row in tables["arms"]])
        out().print(rich_text(line(end)))


def run_trials_of(prepared: PreparedExperiment, store: ResultsFolder, jobs: int | None) -> list[Trial]:
    """Run the trials that have no result yet, and show the progress on stderr. Return all trials."""
    import trio

    from actors.values.lines import line
    from replan.cli.terminal.console import Ticker, err, rich_text

    try:
        with Ticker("trials") as ticker:
            if prepared.simulated:
                from replan_lab.experiments.runner import run_simulated

                return run_simulated(prepared, store, ticker.tick, jobs)
            from replan_lab.experiments.live_runner import run_live

            return trio.run(partial(run_live, prepared, store, ticker.tick, os.environ))
    except KeyboardInterrupt:
        err().print(rich_text(line(f"Finished trials are in {store.folder}; repeat the command to continue.")))
        raise


def print_rows(rows: Table) -> None:
    """Print rows as a table, with text aligned to the left and numbers to the right."""
    from actors.values.lines import columns
    from replan.cli.terminal.console import out, rich_text

    table = [[name.replace("_", " ") for name in rows[0]]] if rows else []
    table += [[_word(value) for value in row.values()] for row in rows]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(table[0]) if table else 0)]
    words = [isinstance(value, str) for value in rows[0].values()] if rows else []
    for cells in table:
        padded = (
            cell.ljust(width) if word else cell.rjust(width)
            for cell, width, word in zip(cells, widths, words, strict=True)
        )
        out().print(rich_text(columns(*padded)))


def _word(value: Cell) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "-" if value is None else str(value)
