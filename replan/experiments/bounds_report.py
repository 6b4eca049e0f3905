"""The tables of an experiment with bounds: their curves, and their values at the baseline's mean calls."""

from replan.experiments.preparation import PreparedExperiment
from replan.experiments.scorecard import Table, rounded


def with_bounds(prepared: PreparedExperiment, means: Table) -> dict[str, Table]:
    """Return the table `bounds`, and `equal_mean` with a row for each bound of each model that has them."""
    from replan.experiments.bounds import at_calls, bounds_of  # noqa: PLC0415 - numpy is optional

    bounds, extended = list[dict[str, str | int | float | None]](), list(means)
    experiment = prepared.experiment
    for model, profile in {arm.arm.model: arm.profile for arm in prepared.arms}.items():
        base = next((row for row in means if row["model"] == model and row["arm"] == experiment.baseline), None)
        if profile is None or base is None:
            continue
        points = list(bounds_of(profile, experiment.caps, experiment.bound_prices))
        bounds += [
            {
                "model": model,
                "bound": point.name,
                "cap": point.cap,
                "price": point.price,
                "success": rounded(point.success),
                "calls_mean": rounded(point.calls),
            }
            for point in points
        ]
        for name in dict.fromkeys(point.name for point in points):
            calls = float(base["baseline_calls_mean"] or 0.0)
            success = at_calls([point for point in points if point.name == name], calls)
            extended.append(
                {
                    **dict.fromkeys(base),
                    "model": model,
                    "arm": f"bound: {name}",
                    "calls_mean": rounded(calls),
                    "baseline_calls_mean": rounded(calls),
                    "success": rounded(success),
                    "delta_success": rounded(success - float(base["success"] or 0.0)),
                }
            )
    return {"bounds": bounds, "equal_mean": extended}
