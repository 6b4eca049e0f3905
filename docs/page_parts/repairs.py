"""The table of suggested repairs, from `benchmarks/results/repairs.json`."""

import json

from page_parts.markdown import table
from tests.tidy.source import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "repairs.json"


def repairs() -> str:
    """Return a row for each author, with the success of both arms and their difference."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = [
        (f"simulated, skill {each['skill']}, takes up {100 * each['heeds']:.0f} % of the suggestions", *_cells(each))
        for each in found["simulated"]
    ]
    if found["model"] is not None:
        rows.append(("SmolLM2-135M", *_cells(found["model"])))
    return table(("Author", "Problems", "Without", "With", "Difference (95 %)", "Calls without", "with"), rows)


def _cells(each: dict) -> tuple[object, ...]:
    shares = (f"{100 * each['without']:.0f} %", f"{100 * each['with']:.0f} %")
    delta = f"{100 * each['delta']:+.0f} ({100 * each['low']:+.0f} to {100 * each['high']:+.0f})"
    return (each["problems"], *shares, delta, f"{each['calls_without']:.1f}", f"{each['calls_with']:.1f}")
