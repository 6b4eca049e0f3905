"""Tables and numbers of the experiments, from the results that are committed in docs/experiments.

A number in the text of a page is a link to its table, with the row and the column as the title of the link:
`[71 %](../experiments/unsettled/arms.csv "single@base: success")`. What stands before the colon names the row by the
values of its first columns; what stands after it names one column, or two for an interval, and may end with `more` or
`less`: then the number has no sign, and another sign than this is an error.
"""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from page_parts.markdown import DOCS, read, table

NUMBER = re.compile(
    r'\[(?P<shown>[^\]\n]*)\]\((?P<path>(?:\.\./)*experiments/(?P<experiment>\w+)/(?P<table>\w+)\.csv)\s+"(?P<cell>[^"]+)"\)'
)
KEYS = ("model", "arm", "cap", "world", "policy", "group", "calls", "depth", "bound", "price", "rule", "conclusion")
"""The columns by whose values a row is named."""
COUNTS = ("trials", "worlds", "holds", "holds_surely", "cap")
SIGNS = {"more": 1, "less": -1}


def results(experiment: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a committed table of an experiment."""
    with (DOCS / "experiments" / experiment / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def numbers_from_tables(text: str) -> str:
    """Return a page with the numbers of its text as they are in the tables now.

    Raises:
        ValueError: a title does not name one row, or a difference has the other sign.
        KeyError: a title names a column that the table does not have.
    """
    return NUMBER.sub(lambda match: match[0].replace(f"[{match['shown']}]", f"[{_value(match)}]", 1), text)


def _value(match: re.Match[str]) -> str:
    keys, _, wanted = match["cell"].rpartition(": ")
    rows = [row for row in results(match["experiment"], match["table"]) if _is_named(row, keys.split())]
    if len(rows) != 1:
        message = f"{match['path']} has {len(rows)} rows {keys!r}"
        raise ValueError(message)
    *columns, last = wanted.split()
    sign = SIGNS.get(last, 0)
    columns += [] if sign else [last]
    values = [float(rows[0][column]) for column in columns]
    if sign and sign * values[0] <= 0:
        message = f"{match['path']}, {keys}: {columns[0]} is {values[0]}, not {last}"
        raise ValueError(message)
    shown = (_shown(column, abs(value) if sign else value) for column, value in zip(columns, values, strict=True))
    return " to ".join(text.removeprefix("+") if sign else text for text in shown)


def _is_named(row: Mapping[str, str], keys: Sequence[str]) -> bool:
    cells = [row[column].removeprefix("simulated:").removeprefix("bound: ") for column in KEYS if column in row]
    return all(key in cells for key in keys)


def _shown(column: str, value: float) -> str:
    """Return a number as the text of a page has it: differences in points, shares in percent, tokens in thousands."""
    if column.startswith("delta"):
        return f"{100 * value:+.0f}"
    if column.startswith(("success", "share", "achieved", "guard_pass", "wrong_success", "backtrack_rate")):
        return f"{100 * value:.0f} %"
    if column.startswith("tokens"):
        return f"{value / 1000:.0f},000"
    return f"{value:.0f}" if column in COUNTS else f"{value:.1f}"


def difference(row: Mapping[str, str]) -> str:
    """Return the paired difference of success in points; nothing for the baseline itself, no interval for a bound."""
    if row["delta_success"] and not row["delta_low"]:
        return f"{100 * float(row['delta_success']):+.1f}"
    points = [100 * float(row[name] or 0) for name in ("delta_success", "delta_low", "delta_high")]
    return f"{points[0]:+.1f} ({points[1]:+.1f} to {points[2]:+.1f})" if any(points) else ""


def over_worlds(experiment: str) -> str:
    """Return the difference of each arm to the baseline in points: over all worlds, and in the worst and best one."""
    rows = results(experiment, "equal_mean")
    by_arm: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["delta_success"]:
            by_arm.setdefault(row["arm"], {})[row["model"].removeprefix("simulated:")] = float(row["delta_success"])
    means = {row["arm"]: row for row in results(experiment, "worlds")}

    def cells(arm: str, worlds: Mapping[str, float]) -> Sequence[str]:
        least, most = (chosen(worlds, key=worlds.__getitem__) for chosen in (min, max))
        return (
            arm,
            difference(means[arm]) if arm in means else f"{100 * fmean(worlds.values()):+.1f}",
            f"{100 * worlds[least]:+.1f} {least}",
            f"{100 * worlds[most]:+.1f} {most}",
        )

    head = ("Arm", "Mean of all worlds", "Least", "Most")
    return table(head, (cells(arm, worlds) for arm, worlds in by_arm.items()))


def unsettled_of(model: str) -> float:
    """Return the factor of the odds at a level without a step of its own, in a simulated world."""
    return float(read(f"../packages/lab/configs/profiles/{model.removeprefix('simulated:')}.yaml")["unsettled"])


PARTS: Mapping[str, Callable[[], str]] = {
    "experiment-all-worlds": lambda: over_worlds("all_worlds"),
}
"""The tables by the name in the mark."""
