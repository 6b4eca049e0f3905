"""The table of blame on labelled failures, from `benchmarks/results/blame.json`."""

import json

from page_parts.markdown import table
from tests.tidy.source import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "blame.json"
PARTS = ("automated", "hand-crafted")
METHODS = {
    "logit": "`replan blame`",
    "naive Bayes": "naive Bayes of the same features",
    "evidence of a belief": "who, when and what came next",
    "best fixed step": "always the same step",
}
"""The methods in the order of the table, each with what it is called there."""


def blame() -> str:
    """Return a row for each method and half of the data."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = []
    for part in PARTS:
        for method, words in METHODS.items():
            each = found["methods"][method][part]
            rows.append(
                (
                    f"{part}, {found['cases'][part]} logs",
                    words,
                    _share(each, "step"),
                    _share(each, "agent"),
                    f"{each['log_score']:.2f}",
                    f"{each['calibration_every']:.3f}",
                    f"{each['calibration_top']:.3f} ({each['calibration_top_if_perfect']:.3f})",
                    _both(each["halves"]),
                    _both(each["from_other"]),
                )
            )
    heads = (
        "Logs",
        "Method",
        "Step",
        "Agent",
        "Log score",
        "Calibration, all steps",
        "likeliest step",
        "By halves",
        "From the other kind",
    )
    return table(heads, rows)


def milliseconds() -> str:
    """Return the median time of a log of each half."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))["milliseconds"]
    return " and ".join(f"{found[part]:.1f} ms ({part})" for part in PARTS)


def _both(shares: dict) -> str:
    return f"{100 * shares['step']:.0f} %, {100 * shares['agent']:.0f} %"


def _share(each: dict, name: str) -> str:
    low, high = each[f"{name}_low"], each[f"{name}_high"]
    return f"{100 * each[name]:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
