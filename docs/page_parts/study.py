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


def arms() -> str:
    """Return for each arm the success within some caps of calls, and its difference to the rules at equal calls."""
    rows = []
    for arm, found in results()["arms"].items():
        shares = (f"{100 * found['success'][cap]['mean']:.0f} %" for cap in CAPS)
        equal = found["at_equal_calls"]
        rows.append((code([arm]), *shares, *(("", "") if equal is None else _cells(equal, True))))
    return table(("Arm", *(f"{cap} calls" for cap in CAPS), "Against rules", "95 % interval"), rows)


def _cells(fact: Mapping[str, float], signed: bool) -> tuple[str, str]:
    sign, unit = ("+", " points") if signed else ("", " %")
    mean, low, high = (f"{100 * fact[key]:{sign}.1f}" for key in ("mean", "low", "high"))
    return f"{mean}{unit}", f"{low} to {high}"


PARTS: Mapping[str, Callable[[], str]] = {
    "study-arms": arms,
}
"""The generated parts of the page."""
