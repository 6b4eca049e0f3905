"""The scorecard: what the trials say of each arm, as tables. Shares come with Wilson's 95 % interval."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, quantiles

from replan.experiments.intervals import of_mean, of_ratio, wilson
from replan.experiments.results import StepUse, Trial
from runtime.core.cost import MICRO

Cell = str | int | float | None
Table = list[dict[str, Cell]]

DIGITS = 4
"""Decimals in the tables: more than any number of trials here supports."""


@dataclass(frozen=True)
class Scorecard:
    """The tables by name, each a list of rows with the same columns."""

    tables: Mapping[str, Table]


def scorecard(trials: Sequence[Trial], references: Mapping[str, str], budgets: Sequence[int]) -> Scorecard:
    """Return the tables of an experiment; `references` has the arms, and the one that each is compared with.

    An arm without trials has no rows.
    """
    by_arm = {arm: [trial for trial in trials if trial.arm == arm] for arm in references}
    by_arm = {arm: found for arm, found in by_arm.items() if found}
    return Scorecard(
        {
            "arms": [{"arm": arm, **_arm(found, by_arm.get(references[arm], []))} for arm, found in by_arm.items()],
            "budgets": [row for arm, found in by_arm.items() for row in _budgets(arm, found, budgets)],
            "causes": [row for arm, found in by_arm.items() for row in _groups(arm, found)],
            "depths": [row for arm, found in by_arm.items() for row in _depths(arm, found)],
            "steps": [row for arm, found in by_arm.items() for row in _steps(arm, found)],
            "rules": [row for arm, found in by_arm.items() for row in _rules(arm, found)],
        }
    )


def good(trial: Trial) -> bool:
    """Whether a trial counts as a success: the plan is right, or, where nobody knows, every guard passed it."""
    return trial.passed if trial.solved is None else trial.solved


def group_of(trial: Trial) -> str:
    """Return what trials are grouped by: where the problem is hard, else its category."""
    return trial.cause or trial.category or "all"


def success_by(trials: Sequence[Trial], calls: int) -> int:
    """Return how many trials succeed within so many calls.

    A search that does not look at its budget makes the same calls with a smaller one, so one experiment has the curve.
    """
    return sum(1 for trial in trials if good(trial) and trial.calls <= calls)


def _arm(trials: Sequence[Trial], reference: Sequence[Trial]) -> dict[str, Cell]:
    count, hits = len(trials), sum(map(good, trials))
    calls, wins = [float(trial.calls) for trial in trials], [float(good(trial)) for trial in trials]
    usd = [trial.micro_usd / MICRO for trial in trials if trial.micro_usd is not None]
    seconds = [trial.seconds for trial in trials]
    aligned = [trial.aligned for trial in trials if trial.aligned is not None]
    low, high = of_ratio(calls, wins)
    return {
        "trials": count,
        **_share("guard_pass", sum(trial.passed for trial in trials), count),
        **_share("success", hits, count),
        "calls_mean": _round(fmean(calls)),
        "calls_per_success": _round(sum(calls) / hits) if hits else None,
        "calls_per_success_low": _round(low) if hits else None,
        "calls_per_success_high": _round(high) if hits else None,
        "usd_per_success": _round(sum(usd) / hits) if hits and len(usd) == count else None,
        "tokens_mean": _round(fmean(trial.tokens for trial in trials)),
        "seconds_median": _round(median(seconds)),
        "seconds_p90": _round(quantiles(seconds, n=10)[-1]) if count > 1 else _round(seconds[0]),
        "backtrack_rate": _round(sum(1 for trial in trials if trial.depths) / count),
        "backtracks_mean": _round(fmean(len(trial.depths) for trial in trials)),
        "strategy_aligned": _round(sum(aligned) / len(aligned)) if aligned else None,
        **_delta(trials, reference),
    }


def _delta(trials: Sequence[Trial], reference: Sequence[Trial]) -> dict[str, Cell]:
    """Compare with the baseline on the same problems and seeds: the difference of success."""
    others = {trial.key[1:]: trial for trial in reference}
    pairs = [(trial, others[trial.key[1:]]) for trial in trials if trial.key[1:] in others]
    differences = [float(good(mine)) - float(good(other)) for mine, other in pairs]
    if not differences:
        return {"delta_success": None, "delta_low": None, "delta_high": None}
    low, high = of_mean(differences)
    return {"delta_success": _round(fmean(differences)), "delta_low": _round(low), "delta_high": _round(high)}


def _budgets(arm: str, trials: Sequence[Trial], budgets: Sequence[int]) -> Table:
    return [
        {"arm": arm, "calls": calls, **_share("success", success_by(trials, calls), len(trials))} for calls in budgets
    ]


def _groups(arm: str, trials: Sequence[Trial]) -> Table:
    rows: Table = []
    for group in sorted({group_of(trial) for trial in trials}):
        mine = [trial for trial in trials if group_of(trial) == group]
        hits, calls = sum(map(good, mine)), [float(trial.calls) for trial in mine]
        low, high = of_ratio(calls, [float(good(trial)) for trial in mine])
        rows.append(
            {
                "arm": arm,
                "group": group,
                "trials": len(mine),
                **_share("guard_pass", sum(trial.passed for trial in mine), len(mine)),
                **_share("success", hits, len(mine)),
                "calls_mean": _round(fmean(calls)),
                "calls_per_success": _round(sum(calls) / hits) if hits else None,
                "calls_per_success_low": _round(low) if hits else None,
                "calls_per_success_high": _round(high) if hits else None,
            }
        )
    return rows


def _depths(arm: str, trials: Sequence[Trial]) -> Table:
    """Count the steps back by how far they went, for each group."""
    rows: Table = []
    for group in sorted({group_of(trial) for trial in trials}):
        mine = [trial for trial in trials if group_of(trial) == group]
        found = Counter(depth for trial in mine for depth in trial.depths)
        total = sum(found.values())
        rows += [
            {
                "arm": arm,
                "group": group,
                "depth": depth,
                "steps_back": found[depth],
                "share": _round(found[depth] / total),
                "per_trial": _round(found[depth] / len(mine)),
            }
            for depth in sorted(found)
        ]
    return rows


def _steps(arm: str, trials: Sequence[Trial]) -> Table:
    """Count what each step came to; epsilon is the share of its attempts that its guard accepts."""
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
                "calls_per_trial": _round(_total(uses, lambda use: use.calls) / len(trials)),
                "seconds_per_attempt": _round(_total(uses, lambda use: use.seconds) / attempts) if attempts else None,
            }
        )
    return rows


def _rules(arm: str, trials: Sequence[Trial]) -> Table:
    found: Counter[str] = Counter()
    for trial in trials:
        found.update(trial.rules)
    return [
        {"arm": arm, "rule": rule, "decisions": count, "per_trial": _round(count / len(trials))}
        for rule, count in sorted(found.items())
    ]


def _total(uses: Sequence[StepUse], of: Callable[[StepUse], float]) -> float:
    return sum(map(of, uses))


def _share(name: str, hits: int, of: int) -> dict[str, Cell]:
    low, high = wilson(hits, of)
    share = _round(hits / of) if of else None
    return {name: share, f"{name}_low": _round(low), f"{name}_high": _round(high)}


def _round(value: float) -> float | None:
    return round(value, DIGITS) if math.isfinite(value) else None
