"""The comparison at equal calls: success within caps, and at the baseline's mean calls, paired by problem and seed.

A cap is a limit of calls. If a search ignores its budget, one trial with the largest cap also shows the result for each
smaller cap. Only its calls and success up to the smaller cap are then counted. A search that divides its budget has one
trial for each cap. An arm that stops before a cap has the same result at every larger cap. Answers of people count as
calls.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist, fmean, stdev
from typing import Any

from replan_lab.experiments.definition import Experiment
from replan_lab.experiments.results import Trial
from replan_lab.experiments.tables import Row, Table, Z, is_success, mean_cells, mean_interval, round_value, share_cells

CAPTIONS: Mapping[str, str] = {
    "equal_calls": "Success within a cap of calls, with the mean calls; p values are corrected by Holm's method.",
    "equal_mean": "Success at the mean calls of the baseline, interpolated between caps. If there is a table `worlds`, "
    "all intervals hold at once (Bonferroni).",
    "bounds": "The success and the mean calls of planners that know more than a search, for several prices of a call.",
    "worlds": "The difference to the baseline at its mean calls, with the models as the sample, and with the problems "
    "as the sample. The intervals of each kind hold at once (Bonferroni).",
}

LEVEL = 0.95
"""The probability that all intervals of a table contain the true values at once."""

_Pair = tuple[str, int]
"""The problem and the seed of a trial. Trials of different arms form a pair if their problem and seed are the same."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The trials of an arm, from which the success and the calls within any cap are computed."""

    label: str
    model: str
    """The model in the form of `--model`."""
    by_cap: Mapping[int, Mapping[_Pair, Trial]]
    """The trials for each cap. An arm that ignores its budget has only one cap."""

    def at(self, cap: int) -> dict[_Pair, tuple[float, float]]:
        """Return the success and the calls within a cap, for each pair of problem and seed."""
        made_with = min((own for own in self.by_cap if own >= cap), default=max(self.by_cap))
        return {
            pair: (float(is_success(trial) and cost_in_calls(trial) <= cap), float(min(cost_in_calls(trial), cap)))
            for pair, trial in self.by_cap[made_with].items()
        }

    def caps(self) -> list[int]:
        """Return the caps at which the success may differ: the caps of the trials, or all numbers up to the largest."""
        return sorted(self.by_cap) if len(self.by_cap) > 1 else list(range(max(self.by_cap) + 1))


def cost_in_calls(trial: Trial) -> float:
    """Return the price of a trial's calls and of the answers of people, in calls."""
    return trial.calls + trial.help_calls + trial.price_calls


def equal_calls_tables(experiment: Experiment, trials: Sequence[Trial]) -> dict[str, Table]:
    """Return the tables of the comparison by name; an empty mapping for an experiment without caps.

    The tables are `equal_calls` and `equal_mean`, and also `worlds` if the experiment sets `mean_of_worlds`.
    """
    if not experiment.caps:
        return {}
    curves = {(curve.label, curve.model): curve for curve in curves_of(experiment, trials)}
    rows, means, by_arm = list[Row](), list[Row](), dict[str, list[Mapping[_Pair, float]]]()
    compared = sum(label != experiment.baseline and (experiment.baseline, model) in curves for label, model in curves)
    z = _corrected_z(compared) if experiment.mean_of_worlds else Z
    for (label, model), curve in curves.items():
        base = curves.get((experiment.baseline, model))
        if base is not None:
            rows += _rows(curve, base, experiment.caps)
            mean, gained = _at_mean(curve, base, experiment.baseline_cap, z)
            means.append(mean)
            if curve is not base:
                by_arm.setdefault(label, []).append(gained)
    _correct(rows)
    tables = {"equal_calls": rows, "equal_mean": means}
    if experiment.mean_of_worlds:
        tables["worlds"] = [_over_worlds(arm, worlds, len(by_arm)) for arm, worlds in by_arm.items()]
    return tables


def _corrected_z(intervals: int) -> float:
    """Return the normal quantile with which so many intervals hold at once with probability `LEVEL` (Bonferroni)."""
    return NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / max(1, intervals))


def _over_worlds(arm: str, worlds: Sequence[Mapping[_Pair, float]], arms: int) -> Row:
    """Return an arm's mean difference to the baseline over all worlds, with two intervals.

    In the first interval, the worlds are the sample, because the question is how much the arm gains in an unknown
    world. This is Student's interval, with one value for each world. In the second interval, the problems are the
    sample. All worlds have the same problems, so with few problems the first interval is too narrow. Both intervals are
    corrected for the number of arms (Bonferroni).
    """
    deltas = [fmean(world.values()) for world in worlds]
    low, high = -math.inf, math.inf
    if len(deltas) > 1:
        half = _student_quantile(1 - (1 - LEVEL) / 2 / arms, len(deltas) - 1) * stdev(deltas) / math.sqrt(len(deltas))
        low, high = fmean(deltas) - half, fmean(deltas) + half
    by_problem = [fmean(world[pair] for world in worlds if pair in world) for pair in worlds[0]]
    problems = mean_interval(by_problem, _corrected_z(arms))
    return {
        "arm": arm,
        "worlds": len(worlds),
        "trials": sum(len(world) for world in worlds),
        "delta_success": round_value(fmean(deltas)),
        "delta_low": round_value(low),
        "delta_high": round_value(high),
        "problems_low": round_value(problems[0]),
        "problems_high": round_value(problems[1]),
        "delta_least": round_value(min(deltas)),
        "delta_most": round_value(max(deltas)),
    }


def curves_of(experiment: Experiment, trials: Sequence[Trial]) -> Iterator[Curve]:
    """Yield the curve of each arm with trials. Arms that differ only in the cap share one curve."""
    by_arm: dict[str, dict[_Pair, Trial]] = {}
    for trial in trials:
        by_arm.setdefault(trial.arm, {})[trial.problem, trial.seed] = trial
    grouped: dict[tuple[str, str], dict[int, Mapping[_Pair, Trial]]] = {}
    for arm in experiment.arms():
        if arm.name in by_arm:
            cap = arm.cap or max(experiment.caps)
            grouped.setdefault((arm.family, arm.model), {})[cap] = by_arm[arm.name]
    yield from (Curve(label, model, by_cap) for (label, model), by_cap in grouped.items())


def _rows(curve: Curve, base: Curve, caps: Sequence[int]) -> Iterator[Row]:
    """Yield a row for each cap. `p` is the p value of McNemar's exact test."""
    for cap in caps:
        own, other = curve.at(cap), base.at(cap)
        hits = int(sum(success for success, _ in own.values()))
        differences = [own[pair][0] - other[pair][0] for pair in own if pair in other and curve is not base]
        gained, lost = differences.count(1.0), differences.count(-1.0)
        yield {
            "model": curve.model,
            "arm": curve.label,
            "cap": cap,
            "trials": len(own),
            **share_cells("success", hits, len(own)),
            "calls_mean": round_value(fmean(calls for _, calls in own.values())),
            **mean_cells("delta_success", differences),
            "p": _exact_p(gained, lost) if differences else None,
        }


def _exact_p(gained: int, lost: int) -> float:
    return float(_statistics().binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def _student_quantile(share: float, degrees: int) -> float:
    return float(_statistics().t.ppf(share, degrees))


def _statistics() -> Any:
    from scipy import stats  # type: ignore[import-untyped]  # noqa: PLC0415 -- slow to load

    return stats


def _correct(rows: Table) -> None:
    """Add p values with Holm's correction for all comparisons of the table, and round all p values to six decimals."""
    tested = sorted((row for row in rows if row["p"] is not None), key=lambda row: float(row["p"] or 0.0))
    least = 0.0
    for position, row in enumerate(tested):
        least = max(least, min(1.0, (len(tested) - position) * float(row["p"] or 0.0)))
        row["p_holm"] = round(least, 6)
        row["p"] = round(float(row["p"] or 0.0), 6)
    for row in rows:
        row.setdefault("p_holm", None)


def _at_mean(curve: Curve, base: Curve, baseline_cap: int, z: float) -> tuple[Row, Mapping[_Pair, float]]:
    """Compare an arm with the baseline at the mean number of calls that the baseline makes within its cap.

    `z` is the normal quantile of the interval. Return the row of `equal_mean`, and the difference in success for each
    pair of problem and seed. An arm that stops earlier is compared at its own largest number of calls.
    """
    other = base.at(baseline_cap)
    target = fmean(calls for _, calls in other.values())
    own, reached = interpolate(curve, target)
    gained = {pair: own[pair] - other[pair][0] for pair in own if pair in other}
    row: Row = {
        "model": curve.model,
        "arm": curve.label,
        "calls_mean": round_value(reached),
        "baseline_calls_mean": round_value(target),
        "success": round_value(fmean(own.values())),
        **mean_cells("delta_success", [] if curve is base else [*gained.values()], z),
    }
    return row, gained


def interpolate(curve: Curve, target: float) -> tuple[dict[_Pair, float], float]:
    """Return the success of each pair of problem and seed at the mean calls `target`, and the mean calls reached.

    The success is interpolated between two caps. Beyond the smallest or the largest cap, the result is the result at
    this cap.
    """
    points = [(cap, fmean(calls for _, calls in curve.at(cap).values())) for cap in curve.caps()]
    for (cap, mean), (following, following_mean) in pairwise(points):
        if mean <= target < following_mean:
            share = (target - mean) / (following_mean - mean)
            before, after = curve.at(cap), curve.at(following)
            return {pair: (1 - share) * before[pair][0] + share * after[pair][0] for pair in before}, target
    cap, mean = points[-1] if target >= points[-1][1] else points[0]
    return {pair: success for pair, (success, _) in curve.at(cap).items()}, mean
