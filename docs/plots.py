"""Draws the plots of the pages about measurements from the committed tables: `make plots`.

The plots are in `docs/explanation/pictures`. Tests compare their names and scales with
the tables. Their bytes depend on the release of matplotlib.
"""
# ruff: noqa: INP001, T201 -- a script, not a package

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path[:0] = [str(ROOT), str(DOCS)]

from page_parts.experiments import results, unsettled_of  # noqa: E402

from replan_lab.experiments.plots import Point, curves, groups  # noqa: E402

OUT = DOCS / "explanation" / "pictures"
MEASURED = ("shipped", "no_agreement")
FINDINGS = ("informed", "blind", "blind_search", "blind_author", "shuffled", "verdict_only")


def point(row: Mapping[str, str], name: str, x: float = 0.0) -> Point:
    """Return a value of a row with its interval; a value without one, such as a bound, has an empty interval."""
    value = float(row[name])
    stem = name.replace("delta_success", "delta")
    low, high = (row.get(f"{stem}_{end}") or value for end in ("low", "high"))
    return Point(value, float(low), float(high), x)


def equal_calls() -> str:
    """Return success against mean calls of each search, with a point for each cap, and of the two bounds."""
    lines: dict[str, list[Point]] = {}
    for row in results("equal_searches", "equal_calls"):
        name = row["arm"].removesuffix("/depth_first") if row["arm"].startswith("baseline") else row["arm"]
        lines.setdefault(name.removeprefix("search/"), []).append(point(row, "success", float(row["calls_mean"])))
    for row in results("equal_searches", "bounds"):
        if float(row["price"]) == 0.0:
            lines.setdefault(f"bound: {row['bound']}", []).append(point(row, "success", float(row["calls_mean"])))
    return curves("Success within 10, 20, 30 and 50 calls", lines, "mean calls", "success")


def unsettled() -> str:
    """Return the success of each workflow within 50 calls, against the odds of a level without a step of its own."""
    lines: dict[str, list[Point]] = {}
    for row in results("unsettled", "equal_calls"):
        if row["cap"] == "50":
            lines.setdefault(row["arm"], []).append(point(row, "success", unsettled_of(row["model"])))
    ticks = sorted(each.x for each in next(iter(lines.values())))
    title = "Success within 50 calls, by the odds of a level that has no step"
    return curves(title, lines, "unsettled: factor of the odds", "success", ticks)


def findings() -> str:
    """Return the success where findings are hidden, by the level at which the problem is hard."""
    rows = {row["arm"]: row for row in results("worlds", "arms")}
    worlds = ("plan_level", "strategy_level", "analysis_level")
    return groups(
        "Success, by what is hidden of the findings",
        {world: {arm: point(rows[f"{arm}@{world}"], "success") for arm in FINDINGS} for world in worlds},
        "success, with 95 % intervals",
    )


def guard_errors() -> str:
    """Return the success of a search and of a single shot, by how often the guard is wrong."""
    rows: dict[str, dict[str, Point]] = {}
    for row in results("guard_errors", "arms"):
        kind, _, rate = row["arm"].partition("_")
        name = f"{rate.removesuffix('_problems')} % of {'problems' if rate.endswith('problems') else 'verdicts'}"
        rows.setdefault(name, {})[kind] = point(row, "success")
    return groups("Success with a guard that errs", rows, "success, with 95 % intervals")


def tools() -> str:
    """Return the share of goals achieved, by how tools fail and by policy."""
    rows: dict[str, dict[str, Point]] = {}
    for row in results("tools", "arms"):
        rows.setdefault(row["world"], {})[row["policy"]] = point(row, "achieved")
    return groups("Goals achieved, by how tools fail", rows, "share of goals, with 95 % intervals")


def all_worlds() -> str:
    """Return what the default gains in each world at the calls of the baseline, with and without `agreement`."""
    rows: dict[str, dict[str, Point]] = {}
    for row in results("all_worlds", "equal_mean"):
        if row["arm"] in MEASURED:
            rows.setdefault(row["model"].removeprefix("simulated:"), {})[row["arm"]] = point(row, "delta_success")
    return groups("Success less that of the baseline, at its mean calls", rows, "95 % intervals that hold together")


def recorded_moves() -> str:
    """Return how often each move mends a rejection, by recorded model, the best at retries first."""
    rows = sorted(results("recorded_mint", "models"), key=lambda row: -float(row["retry"]))
    moves = {"retry in place": "retry", "begin afresh": "afresh"}
    return groups(
        "Rejections that the next move mends, by model",
        {row["model"]: {name: level(row[column]) for name, column in moves.items()} for row in rows},
        "share of rejections with a turn left",
    )


def recorded_policies() -> str:
    """Return what policies gain over a retry in place on the records."""
    rows = [row for row in results("recorded_mint", "arms") if row["arm"] not in ("retry", "stop", "clearly_better")]
    shown = {row["arm"]: point(row, "delta_success") for row in map(with_delta_success, rows)}
    return groups(
        "Next move right, less that of always retrying",
        {name: {"": value} for name, value in shown.items()},
        "share of rejections, tasks drawn again, intervals that hold together",
    )


def with_delta_success(row: Mapping[str, str]) -> Mapping[str, str]:
    """Return the row of an arm with its difference and the intervals that hold together, as other tables name them."""
    return {"delta_success": row["delta"], "delta_low": row["together_low"], "delta_high": row["together_high"]} | {
        "arm": row["arm"]
    }


def recorded_repeats() -> str:
    """Return how often a dialogue is solved later, by how many replies have come again in it."""
    rows: dict[str, dict[str, Point]] = {}
    for row in results("recorded_intercode_sql", "repeats"):
        rows.setdefault(row["model"], {})[f"{row['came_again']} came again"] = level(row["solved_later"])
    return groups("Dialogues that are solved later, by replies that came again", rows, "share of dialogues")


def recorded_author() -> str:
    """Return the success of a run of two proposals by model: measured, and predicted from other models."""
    rows = sorted(results("recorded_mint", "author"), key=lambda row: -float(row["told"]))
    return groups(
        "Success of a run with two proposals, by model",
        {row["model"]: {"measured": level(row["told"]), "predicted": level(row["told_predicted"])} for row in rows},
        "share of runs",
    )


def level(text: str) -> Point:
    """Return a value without an interval."""
    return Point(float(text), float(text), float(text))


PLOTS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "reference/measurements": {
        "all_worlds": all_worlds,
        "equal_calls": equal_calls,
        "findings": findings,
        "guard_errors": guard_errors,
        "tools": tools,
        "unsettled": unsettled,
    },
    "explanation/real-models": {
        "recorded_author": recorded_author,
        "recorded_moves": recorded_moves,
        "recorded_policies": recorded_policies,
        "recorded_repeats": recorded_repeats,
    },
}
"""The plots by the pages that show them, below `docs`, and by the names of their files."""


def main(names: Iterable[str]) -> None:
    """Draw the plots of these names, or all."""
    OUT.mkdir(exist_ok=True)
    plots = {name: draw for page in PLOTS.values() for name, draw in page.items()}
    for name in names or plots:
        (OUT / f"{name}.svg").write_text(plots[name](), encoding="utf-8")
        print(f"docs/explanation/pictures/{name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
