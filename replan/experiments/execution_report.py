"""Writes the results of an experiment about executions: one line per trial, CSV tables, and a plot for each world.

The same trials give the same lines and tables, byte for byte. Without the extra `experiments` there are no plots.
Shares of trials have Wilson's 95 % interval, means the normal one; differences are paired over the seeds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import orjson

from replan.experiments.execution_definition import ExecutionExperiment
from replan.experiments.execution_trials import ExecutionTrial
from replan.experiments.intervals import mean_interval, wilson_interval
from replan.experiments.plots import Point, can_draw, points
from replan.experiments.report import to_csv
from replan.experiments.results import RESULTS
from replan.experiments.scorecard import DIGITS, Cell, Table
from runtime.core.errors import UsageProblem

TABLES = ("arms", "outcomes", "rules")
"""The tables: what was compared, how the executions ended, and which rows of the policies decided."""

Results = Mapping[tuple[str, str], Sequence[ExecutionTrial]]
"""The trials of each world and policy, by their names."""


def write_execution_report(
    experiment: ExecutionExperiment, trials: Sequence[ExecutionTrial], folder: Path
) -> Mapping[str, Table]:
    """Write results, tables and plots into a folder; return the tables. Raises `UsageProblem` where it cannot."""
    results = {
        (world.name, policy.name): [
            trial for trial in trials if (trial.world, trial.policy) == (world.name, policy.name)
        ]
        for world in experiment.worlds
        for policy in experiment.policies
    }
    tables = execution_tables(experiment, results)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lines = (orjson.dumps(trial.model_dump(mode="json"), option=orjson.OPT_APPEND_NEWLINE) for trial in trials)
        (folder / RESULTS).write_bytes(b"".join(lines))
        for name, table in tables.items():
            (folder / f"{name}.csv").write_bytes(to_csv(table).encode())
        for name, svg in _plots(experiment, tables["arms"]) if can_draw() else ():
            (folder / f"{name}.svg").write_bytes(svg.encode())
    except OSError as error:
        cause = f"cannot be written: {error.strerror}"
        raise UsageProblem(cause, place=str(folder), hint="name another folder with --out") from None
    return tables


def execution_tables(experiment: ExecutionExperiment, results: Results) -> Mapping[str, Table]:
    """Return the tables by name."""
    return {
        "arms": [
            {"world": world, "policy": policy, **_arm(trials, results[world, experiment.baseline])}
            for (world, policy), trials in results.items()
        ],
        "outcomes": [
            {"world": world, "policy": policy, "outcome": outcome, "trials": count}
            for (world, policy), trials in results.items()
            for outcome, count in sorted(Counter(trial.outcome for trial in trials).items())
        ],
        "rules": [
            {"world": world, "policy": policy, "rule": rule, "decisions": count}
            for (world, policy), trials in results.items()
            for rule, count in sorted(_rules(trials).items())
        ],
    }


def _arm(trials: Sequence[ExecutionTrial], baseline: Sequence[ExecutionTrial]) -> dict[str, Cell]:
    """Return the metrics of a policy in a world, beside the baseline's trials in the same world."""
    success = sum(trial.outcome == "success" for trial in trials)
    wrong = sum(trial.outcome == "success" and trial.achieved < trial.goals for trial in trials)
    differences = [_achieved(trial) - _achieved(other) for trial, other in zip(trials, baseline, strict=True)]
    return {
        "trials": len(trials),
        **_mean("achieved", [_achieved(trial) for trial in trials]),
        **_mean("delta_achieved", differences),
        **_share("success", success, len(trials)),
        **_share("wrong_success", wrong, len(trials)),
        "tool_calls_mean": _rounded(fmean(trial.tool_calls for trial in trials)),
        "replans_mean": _rounded(fmean(trial.replans for trial in trials)),
        "questions_mean": _rounded(fmean(trial.questions for trial in trials)),
        "minutes_mean": _rounded(fmean(trial.seconds for trial in trials) / 60),
    }


def _achieved(trial: ExecutionTrial) -> float:
    return trial.achieved / trial.goals


def _mean(name: str, values: Sequence[float]) -> dict[str, Cell]:
    low, high = mean_interval(values) if len(values) > 1 else (None, None)
    return {
        name: _rounded(fmean(values)),
        f"{name}_low": None if low is None else _rounded(low),
        f"{name}_high": None if high is None else _rounded(high),
    }


def _share(name: str, hits: int, of: int) -> dict[str, Cell]:
    low, high = wilson_interval(hits, of)
    return {name: _rounded(hits / of), f"{name}_low": _rounded(low), f"{name}_high": _rounded(high)}


def _rounded(value: float) -> float:
    return round(value, DIGITS) + 0.0  # A negative zero becomes zero.


def _rules(trials: Sequence[ExecutionTrial]) -> Counter[str]:
    total: Counter[str] = Counter()
    for trial in trials:
        total.update(trial.rules)
    return total


def _plots(experiment: ExecutionExperiment, arms: Table) -> Iterator[tuple[str, str]]:
    """Yield (file name without suffix, SVG) of the plot of each world."""
    for world in experiment.worlds:
        rows = {str(row["policy"]): row for row in arms if row["world"] == world.name}
        shares = {name: point for name, row in rows.items() if (point := _point(row)) is not None}
        yield f"achieved_{world.name}", points(f"Goals achieved: {world.name}", shares, "share, with 95 % intervals")


def _point(row: Mapping[str, Cell]) -> Point | None:
    value, low, high = row["achieved"], row["achieved_low"], row["achieved_high"]
    if isinstance(value, int | float) and isinstance(low, int | float) and isinstance(high, int | float):
        return Point(value, low, high)
    return None
