"""The table of the pilot with a real model, from `benchmarks/results/study_pilot.json`."""

import json

from page_parts.markdown import table
from tests.tidy.source import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "study_pilot.json"


def pilot() -> str:
    """Return a row for each fact: the share or difference, its interval, and the number of cases and tasks."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = [(name, *_cells(name, fact)) for name, fact in found["facts"].items()]
    rows.append(("right by chance", f"{found['by_chance']:.0%}", "", "", found["kept"]))
    return table(("Fact", "Share", "95 % interval", "Cases", "Tasks"), rows)


def _cells(name: str, fact: dict) -> tuple[object, ...]:
    sign = "+" if name.startswith("lift") else ""
    share, low, high = (f"{100 * fact[key]:{sign}.0f}" for key in ("share", "low", "high"))
    unit = " points" if sign else " %"
    return f"{share}{unit}", f"{low} to {high}", fact["cases"], fact["tasks"]
