"""The tables of experiments: the metrics of each arm, computed from its trials, with 95 % confidence intervals.

Shares have Wilson's interval, and means have the normal interval. Differences between arms are computed from pairs of
trials with the same problem and seed.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median, quantiles, stdev
from typing import TypeVar

from replan_lab.experiments.definition import ExecutionExperiment
from replan_lab.experiments.results import ExecutionTrial, StepUse, Trial
from runtime.core.ledger import MICRO

Cell = str | int | float | None
Row = dict[str, Cell]
Table = list[Row]
T = TypeVar("T")

DIGITS = 4
"""The number of decimals of the numbers in the tables. The results are less precise than these decimals suggest."""
Z = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""
Interval = tuple[float, float]
"""The lower and the upper bound of an interval."""


def wilson_interval(hits: int, of: int) -> Interval:
    """Return the interval of the share `hits / of` (Wilson 1927); [0, 1] if `of` is 0."""
    if of == 0:
        return 0.0, 1.0
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def mean_interval(values: Sequence[float], z: float = Z) -> Interval:
    """Return the interval of a mean, by the normal approximation; unbounded for fewer than two values.

    `z` is the normal quantile.
    """
    if len(values) < 2:
        return -math.inf, math.inf
    half = z * stdev(values) / math.sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def ratio_interval(above: Sequence[float], below: Sequence[float]) -> Interval:
    """Return the interval of sum(above) / sum(below) for paired values, by the delta method; [0, inf] if undefined."""
    total = sum(below)
    if total == 0 or len(below) < 2:
        return 0.0, math.inf
    ratio = sum(above) / total
    residuals = [up - ratio * down for up, down in zip(above, below, strict=True)]
    half = Z * stdev(residuals) * math.sqrt(len(below)) / total
    return max(0.0, ratio - half), ratio + half


def round_value(value: float) -> float | None:
    """Return a number rounded for tables, without a negative zero; None if it is not finite."""
    return round(value, DIGITS) + 0.0 if math.isfinite(value) else None


def share_cells(name: str, hits: int, of: int) -> Row:
    """Return a share with its interval; None if there are no cases."""
    low, high = wilson_interval(hits, of)
    return {
        name: round_value(hits / of) if of else None,
        f"{name}_low": round_value(low),
        f"{name}_high": round_value(high),
    }


def mean_cells(name: str, values: Sequence[float], z: float = Z) -> Row:
    """Return a mean with its interval. Without values, both are None; with one value, the interval is None.

    `z` is the normal quantile of the interval.
    """
    low, high = mean_interval(values, z)
    stem = "delta" if name == "delta_success" else name
    mean = round_value(fmean(values)) if values else None
    return {name: mean, f"{stem}_low": round_value(low), f"{stem}_high": round_value(high)}


def to_csv(table: Table) -> str:
    """Return a table as CSV with a header line; None is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(table[0]) if table else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def _table(groups: Iterable[tuple[Row, T]], rows: Callable[[T], Iterable[Row]]) -> Table:
    return [{**names, **row} for names, trials in groups for row in rows(trials)]


def _rules(trials: Iterable[Trial | ExecutionTrial]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for trial in trials:
        counts.update(trial.rules)
    return sorted(counts.items())


def scorecard(trials: Sequence[Trial], references: Mapping[str, str], budgets: Sequence[int]) -> dict[str, Table]:
    """Return the tables of an experiment about planning runs.

    `references` maps each arm to its baseline. `budgets` are the calls in the rows of the table `budgets`. An arm
    without trials has no rows.
    """
    by_arm = {arm: [trial for trial in trials if trial.arm == arm] for arm in references}
    groups: list[tuple[Row, Sequence[Trial]]] = [({"arm": arm}, found) for arm, found in by_arm.items() if found]
    arms = [(names, (found, by_arm.get(references[str(names["arm"])], []))) for names, found in groups]
    return {
        "arms": _table(arms, lambda pair: [_arm(*pair)]),
        "budgets": _table(
            groups,
            lambda item: (
                {"calls": calls, **share_cells("success", success_by(item, calls), len(item))} for calls in budgets
            ),
        ),
        "causes": _table(groups, _causes),
        "depths": _table(groups, _depths),
        "steps": _table(groups, _steps),
        "rules": _table(
            groups,
            lambda item: (
                {"rule": rule, "decisions": count, "per_trial": round_value(count / len(item))}
                for rule, count in _rules(item)
            ),
        ),
    }


def is_success(trial: Trial) -> bool:
    """Return whether a trial counts as a success: the plan is right.

    If that is unknown, every guard must have passed.
    """
    return trial.passed if trial.solved is None else trial.solved


def success_by(trials: Sequence[Trial], calls: int) -> int:
    """Return how many of the trials succeed within a number of calls.

    Trials with this limit of calls would have the same successes, if the decisions of the search do not depend on the
    limit.
    """
    return sum(1 for trial in trials if is_success(trial) and trial.calls <= calls)


def _success(trials: Sequence[Trial]) -> Row:
    count, hits = len(trials), sum(map(is_success, trials))
    calls = [float(trial.calls) for trial in trials]
    low, high = ratio_interval(calls, [float(is_success(trial)) for trial in trials])
    return {
        "trials": count,
        **share_cells("guard_pass", sum(trial.passed for trial in trials), count),
        **share_cells("success", hits, count),
        "calls_mean": round_value(fmean(calls)),
        "calls_per_success": round_value(sum(calls) / hits) if hits else None,
        "calls_per_success_low": round_value(low) if hits else None,
        "calls_per_success_high": round_value(high) if hits else None,
    }


def _arm(trials: Sequence[Trial], reference: Sequence[Trial]) -> Row:
    count, hits = len(trials), sum(map(is_success, trials))
    usd = [trial.micro_usd / MICRO for trial in trials if trial.micro_usd is not None]
    seconds = [trial.seconds for trial in trials]
    aligned = [trial.aligned for trial in trials if trial.aligned is not None]
    base = {trial.key[1:]: is_success(trial) for trial in reference}
    differences = [float(is_success(trial)) - base[trial.key[1:]] for trial in trials if trial.key[1:] in base]
    return {
        **_success(trials),
        "usd_per_success": round_value(sum(usd) / hits) if hits and len(usd) == count else None,
        "tokens_mean": round_value(fmean(trial.tokens for trial in trials)),
        "seconds_median": round_value(median(seconds)),
        "seconds_p90": round_value(quantiles(seconds, n=10)[-1] if count > 1 else seconds[0]),
        "backtrack_rate": round_value(sum(1 for trial in trials if trial.depths) / count),
        "backtracks_mean": round_value(fmean(len(trial.depths) for trial in trials)),
        "strategy_aligned": round_value(sum(aligned) / len(aligned)) if aligned else None,
        **mean_cells("delta_success", differences),
    }


def _groups(trials: Sequence[Trial], group: Callable[[Trial], str]) -> Iterator[tuple[str, Sequence[Trial]]]:
    for name in sorted({group(trial) for trial in trials}):
        yield name, [trial for trial in trials if group(trial) == name]


def _causes(trials: Sequence[Trial]) -> Iterator[Row]:
    for group, members in _groups(trials, lambda trial: trial.cause or trial.category or "all"):
        yield {"group": group, **_success(members)}


def _depths(trials: Sequence[Trial]) -> Iterator[Row]:
    """Yield the number of rejections for each category and depth.

    A rejection with a retry in the same visit has the depth 0 (S42, S44). If a problem has no category, its trials are
    grouped by the level that is hard in the simulated world, if there is one.
    """
    for group, members in _groups(trials, lambda trial: trial.category or trial.cause or "all"):
        counts = Counter(depth for trial in members for depth in trial.depths)
        counts[0] += sum(trial.retries for trial in members)
        for depth in sorted(counts):
            yield {
                "group": group,
                "depth": depth,
                "rejections": counts[depth],
                "share": round_value(counts[depth] / counts.total()) if counts.total() else None,
                "per_trial": round_value(counts[depth] / len(members)),
            }


def _steps(trials: Sequence[Trial]) -> Iterator[Row]:
    """Yield the metrics of each step over all trials.

    Epsilon is the share of a step's attempts that the step's guard accepts.
    """
    for step in dict.fromkeys(step for trial in trials for step in trial.steps):
        uses: list[StepUse] = [trial.steps[step] for trial in trials if step in trial.steps]
        attempts = sum(use.attempts for use in uses)
        yield {
            "step": step,
            "attempts": attempts,
            **share_cells("epsilon", sum(use.accepted for use in uses), attempts),
            "calls_per_trial": round_value(sum(use.calls for use in uses) / len(trials)),
            "seconds_per_attempt": round_value(sum(use.seconds for use in uses) / attempts) if attempts else None,
        }


def execution_tables(experiment: ExecutionExperiment, trials: Sequence[ExecutionTrial]) -> dict[str, Table]:
    """Return the tables of an experiment about executions: policies in each world, outcomes, and decisions by row."""
    by_arm: dict[tuple[str, str], list[ExecutionTrial]] = {
        (world.name, policy.name): [] for world in experiment.worlds for policy in experiment.policies
    }
    for trial in trials:
        by_arm[trial.world, trial.policy].append(trial)
    groups: list[tuple[Row, list[ExecutionTrial]]] = [
        ({"world": world, "policy": policy}, found) for (world, policy), found in by_arm.items()
    ]
    arms = [(names, (found, by_arm[str(names["world"]), experiment.baseline])) for names, found in groups]
    return {
        "arms": _table(arms, lambda pair: [_execution_arm(*pair)]),
        "outcomes": _table(
            groups,
            lambda item: (
                {"outcome": outcome, "trials": count}
                for outcome, count in sorted(Counter(trial.outcome for trial in item).items())
            ),
        ),
        "rules": _table(groups, lambda item: ({"rule": rule, "decisions": count} for rule, count in _rules(item))),
    }


def _execution_arm(trials: Sequence[ExecutionTrial], baseline: Sequence[ExecutionTrial]) -> Row:
    """Return the metrics of a policy in a world, and its differences to the baseline in the same world."""
    achieved, other = ([trial.achieved / trial.goals for trial in item] for item in (trials, baseline))
    succeeded = [trial for trial in trials if trial.outcome == "success"]
    return {
        "trials": len(trials),
        **mean_cells("achieved", achieved),
        **mean_cells("delta_achieved", [own - base for own, base in zip(achieved, other, strict=True)]),
        **share_cells("success", len(succeeded), len(trials)),
        **share_cells("wrong_success", sum(trial.achieved < trial.goals for trial in succeeded), len(trials)),
        "tool_calls_mean": round_value(fmean(trial.tool_calls for trial in trials)),
        "replans_mean": round_value(fmean(trial.replans for trial in trials)),
        "questions_mean": round_value(fmean(trial.questions for trial in trials)),
        "minutes_mean": round_value(fmean(trial.seconds for trial in trials) / 60),
    }
