"""The report of an experiment: CSV tables, SVG plots, and one static HTML page with both. Same data, same bytes."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from replan.experiments.definition import Experiment
from replan.experiments.intervals import wilson
from replan.experiments.plots import Point, curves, points
from replan.experiments.results import Trial
from replan.experiments.scorecard import Cell, Scorecard, Table, scorecard, success_by

PAGE = "report.html"

CAPTIONS: Mapping[str, str] = {
    "arms": "What was compared. Success is over all trials; differences are paired, against the baseline.",
    "budgets": "Success within so many model calls.",
    "causes": "By where the problem is hard, or by its category.",
    "depths": "Steps back by how far they went; 0 is a new visit of the step itself.",
    "steps": "Each step: epsilon is the share of its attempts that its guard accepts.",
    "rules": "Decisions by row of the policy.",
}
"""The tables in their order, and what each shows."""


def write_report(experiment: Experiment, trials: Sequence[Trial], planned: int, folder: Path) -> Scorecard:
    """Write tables, plots and the page into a folder; return the scorecard."""
    arms = [arm.name for arm in experiment.arms()]
    card = scorecard(trials, experiment.references(), experiment.budgets)
    plots = dict(_plots(card, trials, arms))
    for name, table in card.tables.items():
        (folder / f"{name}.csv").write_bytes(to_csv(table).encode())
    for name, svg in plots.items():
        (folder / f"{name}.svg").write_bytes(svg.encode())
    (folder / PAGE).write_bytes(_page(experiment, card, plots, len(trials), planned).encode())
    return card


def to_csv(table: Table) -> str:
    """Return a table as CSV with a line of names; what is not known is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(table[0]) if table else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def _plots(card: Scorecard, trials: Sequence[Trial], arms: Sequence[str]) -> Iterator[tuple[str, str]]:
    lines = {arm: _curve([trial for trial in trials if trial.arm == arm]) for arm in arms}
    title = "Success against model calls"
    yield "success", curves(title, {arm: line for arm, line in lines.items() if line}, "model calls", "success")
    rows = card.tables["arms"]
    found = {str(row["arm"]): point for row in rows if (point := _point(row, "calls_per_success")) is not None}
    yield "calls", points("Model calls per success", found, "calls, with 95 % intervals")
    found = {str(row["arm"]): point for row in rows if (point := _point(row, "delta_success")) is not None}
    yield "delta", points("Success, difference to the baseline", found, "paired, with 95 % intervals")


def _curve(trials: Sequence[Trial]) -> list[Point]:
    """Return success by every number of calls that some trial made."""
    if not trials:
        return []
    found = []
    for calls in range(max(trial.calls for trial in trials) + 1):
        hits = success_by(trials, calls)
        found.append(Point(hits / len(trials), *wilson(hits, len(trials)), x=float(calls)))
    return found


def _point(row: Mapping[str, Cell], name: str) -> Point | None:
    bounds = name.removesuffix("_success") if name.startswith("delta") else name
    value, low, high = row[name], row[f"{bounds}_low"], row[f"{bounds}_high"]
    if isinstance(value, int | float) and isinstance(low, int | float) and isinstance(high, int | float):
        return Point(value, low, high)
    return None


def _page(experiment: Experiment, card: Scorecard, plots: Mapping[str, str], done: int, planned: int) -> str:
    template = Template((files("replan.experiments") / PAGE).read_text(encoding="utf-8"))
    seeds = experiment.seeds
    facts = {
        "Trials": f"{done:,}" if done == planned else f"{done:,} of {planned:,}: the budget is spent",
        "Seeds": f"{seeds.first} to {seeds.first + seeds.count - 1}",
        "Models": ", ".join(experiment.models),
        "Baseline": experiment.baseline,
    }
    return template.substitute(
        title=escape(experiment.name),
        description=escape(experiment.description),
        facts="<dl>"
        + "".join(f"<dt>{escape(name)}</dt><dd>{escape(said)}</dd>" for name, said in facts.items())
        + "</dl>",
        figures="\n".join(f"<figure>\n{svg}</figure>" for svg in plots.values()),
        tables="\n".join(_table(name, card.tables[name], caption) for name, caption in CAPTIONS.items()),
    )


def _table(name: str, table: Table, caption: str) -> str:
    if not table:
        return ""
    head = "".join(f"<th>{escape(column.replace('_', ' '))}</th>" for column in table[0])
    rows = "\n".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in table)
    inner = (
        f"<caption>{escape(caption)} ({name}.csv)</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>"
    )
    return f'<h2>{escape(name.capitalize())}</h2>\n<div class="wide"><table>\n{inner}\n</table></div>'


def _cell(value: Cell) -> str:
    if isinstance(value, str):
        return f'<td class="text">{escape(value)}</td>'
    return f"<td>{'' if value is None else f'{value:g}'}</td>"
