"""The scorecard: the metrics of each arm over its trials, as tables. Shares have Wilson's 95 % interval."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, quantiles

from replan.experiments.intervals import mean_interval, ratio_interval, wilson_interval
from replan.experiments.results import StepUse, Trial
from runtime.core.cost import MICRO

Cell = str | int | float | None
Table = list[dict[str, Cell]]

DIGITS = 4
"""Decimals in the tables, more than the number of trials supports."""


@dataclass(frozen=True)
class Scorecard:
    """The metrics of all arms of an experiment."""

    tables: Mapping[str, Table]
    """The tables by name, each a list of rows with the same columns."""


def scorecard(trials: Sequence[Trial], references: Mapping[str, str], budgets: Sequence[int]) -> Scorecard:
    """Return the tables of an experiment.

    `references` maps each arm to the one that it is compared with; `budgets` are the calls of the rows of the table
    `budgets`. An arm without trials has no rows.
    """
    by_arm = {arm: [trial for trial in trials if trial.arm == arm] for arm in references}
    by_arm = {arm: results for arm, results in by_arm.items() if results}
    return Scorecard(
        {
            "arms": [{"arm": arm, **_arm(results, by_arm.get(references[arm], []))} for arm, results in by_arm.items()],
            "budgets": [row for arm, results in by_arm.items() for row in _budgets(arm, results, budgets)],
            "causes": [row for arm, results in by_arm.items() for row in _groups(arm, results)],
            "depths": [row for arm, results in by_arm.items() for row in _depths(arm, results)],
            "steps": [row for arm, results in by_arm.items() for row in _steps(arm, results)],
            "rules": [row for arm, results in by_arm.items() for row in _rules(arm, results)],
        }
    )


def is_success(trial: Trial) -> bool:
    """Return whether a trial counts as a success: the plan is right, or, if that is unknown, every guard passed."""
    return trial.passed if trial.solved is None else trial.solved


def group_of(trial: Trial) -> str:
    """Return the group of a trial in the tables: the level at which the problem is hard, else its category."""
    return trial.cause or trial.category or "all"


def success_by(trials: Sequence[Trial], calls: int) -> int:
    """Return the number of trials that succeed within this number of calls.

    It equals the success with that budget for a search whose decisions do not depend on the budget.
    """
    return sum(1 for trial in trials if is_success(trial) and trial.calls <= calls)


def _arm(trials: Sequence[Trial], reference: Sequence[Trial]) -> dict[str, Cell]:
    count, hits = len(trials), sum(map(is_success, trials))
    calls, successes = [float(trial.calls) for trial in trials], [float(is_success(trial)) for trial in trials]
    usd = [trial.micro_usd / MICRO for trial in trials if trial.micro_usd is not None]
    seconds = [trial.seconds for trial in trials]
    aligned = [trial.aligned for trial in trials if trial.aligned is not None]
    low, high = ratio_interval(calls, successes)
    return {
        "trials": count,
        **_share("guard_pass", sum(trial.passed for trial in trials), count),
        **_share("success", hits, count),
        "calls_mean": rounded(fmean(calls)),
        "calls_per_success": rounded(sum(calls) / hits) if hits else None,
        "calls_per_success_low": rounded(low) if hits else None,
        "calls_per_success_high": rounded(high) if hits else None,
        "usd_per_success": rounded(sum(usd) / hits) if hits and len(usd) == count else None,
        "tokens_mean": rounded(fmean(trial.tokens for trial in trials)),
        "seconds_median": rounded(median(seconds)),
        "seconds_p90": rounded(quantiles(seconds, n=10)[-1]) if count > 1 else rounded(seconds[0]),
        "backtrack_rate": rounded(sum(1 for trial in trials if trial.depths) / count),
        "backtracks_mean": rounded(fmean(len(trial.depths) for trial in trials)),
        "strategy_aligned": rounded(sum(aligned) / len(aligned)) if aligned else None,
        **_delta(trials, reference),
    }


def _delta(trials: Sequence[Trial], reference: Sequence[Trial]) -> dict[str, Cell]:
    """Return the mean difference of success to the baseline, over trials with the same problem and seed."""
    by_key = {trial.key[1:]: trial for trial in reference}
    pairs = [(trial, by_key[trial.key[1:]]) for trial in trials if trial.key[1:] in by_key]
    differences = [float(is_success(trial)) - float(is_success(base)) for trial, base in pairs]
    if not differences:
        return {"delta_success": None, "delta_low": None, "delta_high": None}
    low, high = mean_interval(differences)
    return {"delta_success": rounded(fmean(differences)), "delta_low": rounded(low), "delta_high": rounded(high)}


def _budgets(arm: str, trials: Sequence[Trial], budgets: Sequence[int]) -> Table:
    return [
        {"arm": arm, "calls": calls, **_share("success", success_by(trials, calls), len(trials))} for calls in budgets
    ]


def _groups(arm: str, trials: Sequence[Trial]) -> Table:
    rows: Table = []
    for group in sorted({group_of(trial) for trial in trials}):
        members = [trial for trial in trials if group_of(trial) == group]
        hits, calls = sum(map(is_success, members)), [float(trial.calls) for trial in members]
        low, high = ratio_interval(calls, [float(is_success(trial)) for trial in members])
        rows.append(
            {
                "arm": arm,
                "group": group,
                "trials": len(members),
                **_share("guard_pass", sum(trial.passed for trial in members), len(members)),
                **_share("success", hits, len(members)),
                "calls_mean": rounded(fmean(calls)),
                "calls_per_success": rounded(sum(calls) / hits) if hits else None,
                "calls_per_success_low": rounded(low) if hits else None,
                "calls_per_success_high": rounded(high) if hits else None,
            }
        )
    return rows


def _depths(arm: str, trials: Sequence[Trial]) -> Table:
    """Count the rejections by how far each went back, for each category; a retry in place has the depth 0 (S42, S44).

    Trials of problems without a category are grouped by the level at which the problem is hard.
    """
    rows: Table = []
    for group in sorted({_category_of(trial) for trial in trials}):
        members = [trial for trial in trials if _category_of(trial) == group]
        counts = Counter(depth for trial in members for depth in trial.depths)
        counts[0] += sum(trial.retries for trial in members)
        total = counts.total()
        rows += [
            {
                "arm": arm,
                "group": group,
                "depth": depth,
                "rejections": counts[depth],
                "share": rounded(counts[depth] / total) if total else None,
                "per_trial": rounded(counts[depth] / len(members)),
            }
            for depth in sorted(counts)
        ]
    return rows


def _category_of(trial: Trial) -> str:
    return trial.category or trial.cause or "all"


def _steps(arm: str, trials: Sequence[Trial]) -> Table:
    """Sum up the metrics of each step; epsilon is the share of its attempts that its guard accepts."""
    rows: Table = []
    for step in dict.fromkeys(step for trial in trials for step in trial.steps):
        uses = [trial.steps[step] for trial in trials if step in trial.steps]
        attempts = _total(uses, lambda use: use.attempts)
        rows.append(
            {
                "arm": arm,
                "step": step,
                "attempts": int(attempts),
                **_share("epsilon", int(_total(uses, lambda use: use.accepted)), int(attempts)),
                "calls_per_trial": rounded(_total(uses, lambda use: use.calls) / len(trials)),
                "seconds_per_attempt": rounded(_total(uses, lambda use: use.seconds) / attempts) if attempts else None,
            }
        )
    return rows


def _rules(arm: str, trials: Sequence[Trial]) -> Table:
    counts: Counter[str] = Counter()
    for trial in trials:
        counts.update(trial.rules)
    return [
        {"arm": arm, "rule": rule, "decisions": count, "per_trial": rounded(count / len(trials))}
        for rule, count in sorted(counts.items())
    ]


def _total(uses: Sequence[StepUse], of: Callable[[StepUse], float]) -> float:
    return sum(map(of, uses))


def _share(name: str, hits: int, of: int) -> dict[str, Cell]:
    low, high = wilson_interval(hits, of)
    share = rounded(hits / of) if of else None
    return {name: share, f"{name}_low": rounded(low), f"{name}_high": rounded(high)}


def rounded(value: float) -> float | None:
    """Return a number as tables have it; None for one that is not finite."""
    return round(value, DIGITS) if math.isfinite(value) else None
