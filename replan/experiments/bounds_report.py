"""The tables of an experiment with bounds: their curves, and their values at the baseline's mean calls."""

from actors.config.model_spec import Simulated, parse_model_spec
from actors.simulated.model import load_profile
from replan.experiments.definition import Experiment
from replan.experiments.scorecard import Table, rounded
from replan.setup.data_files import data_root


def with_bounds(experiment: Experiment, means: Table) -> dict[str, Table]:
    """Return the table `bounds`, and `equal_mean` with a row for each bound of each model that has them."""
    from replan.experiments.bounds import at_calls, bounds_of  # noqa: PLC0415 - numpy is optional

    bounds, extended = list[dict[str, str | int | float | None]](), list(means)
    for model in experiment.models:
        spec = parse_model_spec(model)
        base = next((row for row in means if row["model"] == model and row["arm"] == experiment.baseline), None)
        if not isinstance(spec, Simulated) or base is None:
            continue
        points = list(bounds_of(load_profile(spec.profile, data_root()), experiment.caps, experiment.bound_prices))
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
