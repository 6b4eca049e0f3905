"""Tables of the experiments, from the results that are committed in docs/experiments."""

import csv
from collections.abc import Callable, Iterable, Mapping

from page_parts.markdown import DOCS, table


def results(experiment: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a committed table of an experiment."""
    with (DOCS / "experiments" / experiment / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def share(row: Mapping[str, str], name: str) -> str:
    """Return a share with its interval, in percent."""
    return f"{float(row[name]):.1%} ({float(row[name + '_low']):.1%} to {float(row[name + '_high']):.1%})"


def number(row: Mapping[str, str], name: str) -> str:
    """Return a number with its interval, or a dash where there is none."""
    if not row[name]:
        return "-"
    return f"{float(row[name]):.1f} ({float(row[name + '_low']):.1f} to {float(row[name + '_high']):.1f})"


def compared(experiment: str) -> str:
    """Return what an experiment says of its arms."""
    head = ("Arm", "Success", "Difference to the baseline", "Calls per trial", "Calls per success")
    cells = (
        (
            row["arm"],
            share(row, "success"),
            difference(row),
            f"{float(row['calls_mean']):.1f}",
            number(row, "calls_per_success"),
        )
        for row in results(experiment, "arms")
    )
    return table(head, cells)


def difference(row: Mapping[str, str]) -> str:
    """Return the paired difference of success in points; nothing for the baseline itself, no interval for a bound."""
    if row["delta_success"] and not row["delta_low"]:
        return f"{100 * float(row['delta_success']):+.1f}"
    points = [100 * float(row[name]) for name in ("delta_success", "delta_low", "delta_high")]
    return f"{points[0]:+.1f} ({points[1]:+.1f} to {points[2]:+.1f})" if any(points) else ""


def matrix() -> str:
    """Return the comparison of the workflows in all that was measured of them."""
    columns = {
        "calls_mean": "Calls per trial",
        "calls_per_success": "Calls per success",
        "tokens_mean": "Tokens",
        "seconds_median": "Seconds (median)",
        "backtracks_mean": "Steps back",
        "strategy_aligned": "Strategy fits",
    }
    rows = results("decompositions", "arms")
    cells = ((row["arm"], share(row, "success"), *(short(row[name]) for name in columns)) for row in rows)
    return table(("Workflow", "Success", *columns.values()), cells)


def short(value: str) -> str:
    """Return a number without decimals that say nothing, or a dash."""
    return f"{float(value):,.4g}" if value else "-"


def by_budget(experiment: str) -> str:
    """Return success by budget of calls, a column per budget."""
    rows = results(experiment, "budgets")
    budgets = list(dict.fromkeys(row["calls"] for row in rows))
    shares = {(row["arm"], row["calls"]): f"{float(row['success']):.1%}" for row in rows}
    arms = dict.fromkeys(row["arm"] for row in rows)
    return table(
        ("Arm", *(f"{calls} calls" for calls in budgets)),
        ((arm, *(shares[arm, calls] for calls in budgets)) for arm in arms),
    )


def by_depth(experiment: str, arms: Iterable[str]) -> str:
    """Return how far back some arms go, by where the problem is hard."""
    rows = (row for row in results(experiment, "depths") if row["arm"] in arms)
    cells = ((row["arm"], row["group"], row["depth"], row["steps_back"], f"{float(row['share']):.0%}") for row in rows)
    return table(("Arm", "Hard at", "Depth", "Steps back", "Share"), cells)


def by_cause(experiment: str) -> str:
    """Return success by where the problem is hard, a column each."""
    rows = results(experiment, "causes")
    groups = sorted({row["group"] for row in rows})
    shares = {(row["arm"], row["group"]): share(row, "success") for row in rows}
    arms = dict.fromkeys(row["arm"] for row in rows)
    return table(("Arm", *groups), ((arm, *(shares[arm, group] for group in groups)) for arm in arms))


def of_executions(experiment: str) -> str:
    """Return what an experiment about executions says of its policies, world by world."""
    columns = {
        "tool_calls_mean": "Tool calls",
        "replans_mean": "Replans",
        "questions_mean": "Questions",
        "minutes_mean": "Minutes",
    }
    cells = (
        (
            row["world"],
            row["policy"],
            share(row, "achieved"),
            points_of(row, "delta_achieved"),
            f"{float(row['wrong_success']):.1%}",
            *(f"{float(row[name]):.1f}" for name in columns),
        )
        for row in results(experiment, "arms")
    )
    head = ("World", "Policy", "Goals achieved", "Difference to the baseline", "Wrong successes")
    return table((*head, *columns.values()), cells)


def points_of(row: Mapping[str, str], name: str) -> str:
    """Return a paired difference in points; nothing where all trials are equal, as for the baseline itself."""
    points = [100 * float(row[column]) for column in (name, f"{name}_low", f"{name}_high")]
    return f"{points[0]:+.1f} ({points[1]:+.1f} to {points[2]:+.1f})" if any(points) else ""


def at_equal_calls(experiment: str) -> str:
    """Return the success of each arm within every cap, and at the baseline's mean calls."""
    rows, means = results(experiment, "equal_calls"), results(experiment, "equal_mean")
    caps = list(dict.fromkeys(row["cap"] for row in rows))
    shares = {(row["arm"], row["cap"]): f"{float(row['success']):.0%} @ {float(row['calls_mean']):.1f}" for row in rows}
    head = ("Arm", *(f"{cap} calls" for cap in caps), "At the baseline's mean calls", "Difference")
    return table(
        head,
        (
            (
                row["arm"],
                *(shares.get((row["arm"], cap), "") for cap in caps),
                f"{float(row['success']):.1%} @ {float(row['calls_mean']):.1f}",
                difference(row) if row["delta_success"] else "",
            )
            for row in means
        ),
    )


def by_world(experiment: str, cap: str) -> str:
    """Return the success within a cap, with the mean calls: a row for each arm, a column for each world."""
    rows = [row for row in results(experiment, "equal_calls") if row["cap"] == cap]
    shares = {
        (row["arm"], row["model"]): f"{float(row['success']):.0%} @ {float(row['calls_mean']):.1f}" for row in rows
    }
    worlds = list(dict.fromkeys(row["model"] for row in rows))
    return table(
        ("Arm", *(world.removeprefix("simulated:") for world in worlds)),
        ((arm, *(shares[arm, world] for world in worlds)) for arm in dict.fromkeys(row["arm"] for row in rows)),
    )


PARTS: Mapping[str, Callable[[], str]] = {
    "experiment-budgets": lambda: by_budget("searches"),
    "experiment-decompositions": matrix,
    "experiment-equal-searches": lambda: at_equal_calls("equal_searches"),
    "experiment-race": lambda: at_equal_calls("race"),
    "experiment-unsettled": lambda: by_world("unsettled", "30"),
    "experiment-depths": lambda: by_depth("searches", ("search/depth_first", "search/blind")),
    "experiment-guard-errors": lambda: compared("guard_errors"),
    "experiment-levels": lambda: by_cause("searches"),
    "experiment-muddled": lambda: compared("muddled"),
    "experiment-patience": lambda: compared("patience"),
    "experiment-policy-rows": lambda: compared("policy_rows"),
    "experiment-searches": lambda: compared("searches"),
    "experiment-tools": lambda: of_executions("tools"),
    "experiment-worlds": lambda: compared("worlds"),
}
"""The tables by the name in the mark."""
