"""The tables of the study with a real model, from `benchmarks/results/study.json`."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from page_parts.markdown import code, table
from tests.tidy.source import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "study.json"
CAPS = ("2", "4", "6", "10", "20")
"""The caps of calls that the page shows; the file has more."""


def results() -> Any:
    """Return the results of the study, as `benchmarks/study/analysis.py` wrote them."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def facts() -> str:
    """Return a row for each fact: the mean over tasks, its interval, and the number of cases and tasks."""
    rows = [(name, *_cells(fact, name.startswith("lift")), fact["cases"], fact["tasks"]) for name, fact in _facts()]
    return table(("Fact", "Share", "95 % interval", "Cases", "Tasks"), rows)


def _facts() -> list[tuple[str, Any]]:
    return list(results()["facts"].items())


def arms() -> str:
    """Return for each arm the success within some caps of calls, and its difference to the rules at equal calls."""
    rows = []
    for arm, found in results()["arms"].items():
        shares = (f"{100 * found['success'][cap]['mean']:.0f} %" for cap in CAPS)
        equal = found["at_equal_calls"]
        rows.append((code([arm]), *shares, *(("", "") if equal is None else _cells(equal, True))))
    return table(("Arm", *(f"{cap} calls" for cap in CAPS), "Against rules", "95 % interval"), rows)


def prediction() -> str:
    """Return for each arm the success that the fitted simulation predicts, and that of the other half of the tasks."""
    found = results()
    by_arm: dict[str, dict[str, Any]] = {}
    for row in found["prediction"]:
        by_arm.setdefault(row["arm"], {})[str(row["cap"])] = row
    rows = []
    for arm, caps in by_arm.items():
        shown = [f"{100 * caps[cap]['predicted']:.0f} / {100 * caps[cap]['measured']['mean']:.0f} %" for cap in CAPS]
        gain = found["gains"].get(arm)
        against = "" if gain is None else f"{100 * gain['predicted']:+.1f} / {100 * gain['measured']['mean']:+.1f}"
        rows.append((code([arm]), *shown, against))
    return table(("Arm", *(f"{cap} calls" for cap in CAPS), "Against rules"), rows)


def _cells(fact: Mapping[str, float], signed: bool) -> tuple[str, str]:
    sign, unit = ("+", " points") if signed else ("", " %")
    mean, low, high = (f"{100 * fact[key]:{sign}.1f}" for key in ("mean", "low", "high"))
    return f"{mean}{unit}", f"{low} to {high}"


PARTS: Mapping[str, Callable[[], str]] = {
    "study-facts": facts,
    "study-arms": arms,
    "study-prediction": prediction,
}
"""The generated parts of the page."""
