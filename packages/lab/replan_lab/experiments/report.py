"""Writes the report of an experiment: CSV tables, SVG plots, and for planning runs a static HTML page with both.

Equal results give equal tables, byte for byte. The bytes of the plots depend on the release of matplotlib.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from replan_lab.experiments.definition import ExecutionExperiment, Experiment
from replan_lab.experiments.equal_calls import CAPTIONS as EQUAL_CALLS
from replan_lab.experiments.equal_calls import equal_calls_tables
from replan_lab.experiments.plots import Point, curves, points
from replan_lab.experiments.preparation import PreparedExperiment
from replan_lab.experiments.results import RESULTS, ExecutionTrial, Trial, lines_of
from replan_lab.experiments.tables import (
    Cell,
    Row,
    Table,
    execution_tables,
    scorecard,
    success_by,
    to_csv,
    wilson_interval,
)
from runtime.core.errors import UsageProblem

PAGE = "report.html"

CAPTIONS: Mapping[str, str] = {
    "arms": "The compared arms. Success is the share of solved trials. Differences to the baseline are means "
    "over pairs of trials with the same problem and seed.",
    "budgets": "Success within a number of model calls.",
    "causes": "Success by the step at which the problem is hard, or by the problem's category.",
    "depths": "Rejections by the distance that the search went back; 0 is a retry or a new visit of the same step.",
    "steps": "The steps; epsilon is the share of a step's attempts that its guard accepts.",
    "rules": "The number of decisions by each row of the policy.",
}

PLOTS: Mapping[str, str] = {
    "success": "The share of trials that succeed within a number of model calls. Bands are 95 % intervals.",
    "calls": "Model calls per success. The plot has no point for an arm without a success. Bars are 95 % intervals.",
    "delta": "Success minus the baseline's success on the same problems and seeds. Bars are paired 95 % intervals.",
}


def captions(experiment: Experiment) -> Mapping[str, str]:
    """Return the caption of each table that the report shows, by the table's name, in the order of the report."""
    left_out = {
        "bounds": not experiment.bounds,
        "worlds": not experiment.mean_of_worlds,
    }
    extra = {name: text for name, text in EQUAL_CALLS.items() if experiment.caps and not left_out.get(name)}
    return {**extra, **CAPTIONS}


def write_report(prepared: PreparedExperiment, trials: Sequence[Trial], folder: Path) -> Mapping[str, Table]:
    """Write tables, plots and the page into a folder; return the tables.

    Raises `UsageProblem` if the folder cannot be written.
    """
    experiment = prepared.experiment
    tables = scorecard(trials, experiment.references(), experiment.budgets) | equal_calls_tables(experiment, trials)
    if experiment.bounds:
        from replan_lab.experiments.bounds import add_bounds  # noqa: PLC0415 -- numpy is slow to load

        tables |= add_bounds(prepared, tables["equal_mean"])
    plots = dict(_plots(experiment, tables["arms"], trials))
    write_files(folder, tables, plots, {PAGE: _page(prepared, tables, plots, len(trials)).encode()})
    return tables


def write_execution_report(
    experiment: ExecutionExperiment, trials: Sequence[ExecutionTrial], folder: Path
) -> Mapping[str, Table]:
    """Write results, tables and plots into a folder; return the tables.

    Raises `UsageProblem` if the folder cannot be written.
    """
    tables = execution_tables(experiment, trials)
    plots = dict(_execution_plots(experiment, tables["arms"]))
    write_files(folder, tables, plots, {RESULTS: lines_of(trials)})
    return tables


def write_files(
    folder: Path, tables: Mapping[str, Table], plots: Mapping[str, str], others: Mapping[str, bytes]
) -> None:
    """Write a report. The keys of `plots` are file names without suffix, and the keys of `others` are file names."""
    contents = {f"{name}.csv": to_csv(table).encode() for name, table in tables.items()}
    contents |= {f"{name}.svg": svg.encode() for name, svg in plots.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in {**contents, **others}.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        cause = f"cannot be written: {error.strerror}"
        raise UsageProblem(cause, place=str(folder), hint="name another folder with --out") from None


def _plots(experiment: Experiment, table: Table, trials: Sequence[Trial]) -> Iterator[tuple[str, str]]:
    """Yield (file name without suffix, SVG) of each plot.

    There is one set of plots for each model, because only arms of one model are compared.
    """
    most = max((trial.calls for trial in trials), default=0)
    rows = {row["arm"]: row for row in table}
    several = len(experiment.models) > 1
    for position, model in enumerate(experiment.models, 1):
        arms = [arm for arm in experiment.arms() if arm.model == model and arm.name in rows]
        lines = {arm.label: _curve([trial for trial in trials if trial.arm == arm.name], most) for arm in arms}
        calls, delta = (
            {arm.label: point for arm in arms if (point := _point(rows[arm.name], column)) is not None}
            for column in ("calls_per_success", "delta_success")
        )
        suffix, of_model = (f"_{position}", f", {model}") if several else ("", "")
        yield f"success{suffix}", curves(f"Success against model calls{of_model}", lines, "model calls", "success")
        yield f"calls{suffix}", points(f"Model calls per success{of_model}", calls, "calls, with 95 % intervals")
        title = f"Difference in success from the baseline{of_model}"
        yield f"delta{suffix}", points(title, delta, "paired, with 95 % intervals")


def _execution_plots(experiment: ExecutionExperiment, arms: Table) -> Iterator[tuple[str, str]]:
    """Yield (file name without suffix, SVG) of the plot of each world."""
    for world in experiment.worlds:
        rows = {str(row["policy"]): row for row in arms if row["world"] == world.name}
        shares = {name: point for name, row in rows.items() if (point := _point(row, "achieved")) is not None}
        yield f"achieved_{world.name}", points(f"Goals achieved: {world.name}", shares, "share, with 95 % intervals")


def _curve(trials: Sequence[Trial], most: int) -> list[Point]:
    curve = []
    for calls in range(most + 1):
        hits = success_by(trials, calls)
        curve.append(Point(hits / len(trials), *wilson_interval(hits, len(trials)), x=float(calls)))
    return curve


def _bounds(name: str) -> tuple[str, str]:
    stem = "delta" if name == "delta_success" else name
    return f"{stem}_low", f"{stem}_high"


def _point(row: Row, name: str) -> Point | None:
    value, low, high = (row[column] for column in (name, *_bounds(name)))
    if isinstance(value, int | float) and isinstance(low, int | float) and isinstance(high, int | float):
        return Point(value, low, high)
    return None


def _page(prepared: PreparedExperiment, tables: Mapping[str, Table], plots: Mapping[str, str], done: int) -> str:
    experiment, planned = prepared.experiment, len(prepared.trials)
    template = Template((files("replan_lab.experiments") / PAGE).read_text(encoding="utf-8"))
    seeds, shown = experiment.seeds, captions(experiment)
    facts = {
        "Trials": f"{done:,}" if done == planned else f"{done:,} of {planned:,}, because the budget is spent",
        "Seeds": f"{seeds.first} to {seeds.first + seeds.count - 1}",
        "Models": ", ".join(experiment.models),
        "Baseline": experiment.baseline,
    }
    return template.substitute(
        title=escape(experiment.name),
        description=escape(experiment.description),
        facts="<dl>"
        + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
        + "</dl>",
        plots="\n".join(_figure(f"{name}.svg", "plot", PLOTS[name.split("_")[0]], svg) for name, svg in plots.items()),
        tables="\n".join(_table(name, tables[name], caption) for name, caption in shown.items()),
    )


def _figure(file: str, kind: str, caption: str, inner: str) -> str:
    """Return a plot or table with its caption as HTML.

    On a narrow screen it can be scrolled, also with the keyboard.
    """
    caption_element = f"<figcaption>{escape(caption)} ({file})</figcaption>"
    region = f'<div class="wide" role="region" aria-label="{file}" tabindex="0">\n{inner}</div>'
    return f'<figure class="{kind}">\n{caption_element}\n{region}\n</figure>'


def _table(name: str, table: Table, caption: str) -> str:
    if not table:
        return ""
    bounds = {bound for column in table[0] for bound in _bounds(column)}
    columns = [column for column in table[0] if column not in bounds]
    head = "".join(f'<th scope="col"{_kind(table[0][name])}>{escape(name.replace("_", " "))}</th>' for name in columns)
    rows = "\n".join(f"<tr>{''.join(_cell(row, column) for column in columns)}</tr>" for row in table)
    parts = f'<table class="{name}">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n'
    return f"<h3>{escape(name.capitalize())}</h3>\n{_figure(f'{name}.csv', 'table', caption, parts)}"


def _cell(row: Row, column: str) -> str:
    low, high = (row.get(bound) for bound in _bounds(column))
    interval = "" if row[column] is None or low is None else f" <small>{_short(low)} to {_short(high)}</small>"
    return f"<td{_kind(row[column])}>{_short(row[column])}{interval}</td>"


def _kind(value: Cell) -> str:
    return ' class="text"' if isinstance(value, str) else ""


def _short(value: Cell) -> str:
    """Return a value as the page shows it.

    A number has three significant digits, or all digits before the decimal point.
    """
    if isinstance(value, int | float):
        return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.3g}"
    return escape(value or "")
