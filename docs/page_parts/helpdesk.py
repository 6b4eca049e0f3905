"""The table of the helpdesk, from `benchmarks/results/helpdesk.json`."""

import json

from page_parts.markdown import table
from tests.tidy.source import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "helpdesk.json"


def helpdesk() -> str:
    """Return a row for each number, with a column for each way in which the user takes part."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    return table(HEADS, _rows(found))


HEADS = ("Solo mode", "The ticket alone", "The user answers")


def _rows(found: dict) -> list[tuple[object, ...]]:
    sides = [found[key] for key in ("ticket_only", "user_answers")]
    rounds = found["user_answers"]["rounds"]
    return [
        ("tasks", *(each["tasks"] for each in sides)),
        ("tasks passed in each round", *(", ".join(map(str, each["passed"])) for each in sides)),
        (f"tasks passed in all rounds (second column: pass^{rounds})", *(_share(each) for each in sides)),
        (
            "proved plans that failed in the simulated world",
            *(f"{100 * each['proved_and_failed']:.1f} %" for each in sides),
        ),
        ("questions to the user in a round", *(f"{each['asked']:g}" for each in sides)),
        ("tickets handed over to a person in a round", *(f"{each['handed_over']:g}" for each in sides)),
        ("tool calls in a round", *(f"{each['calls']:,.0f}" for each in sides)),
        ("model calls", *(each["model_calls"] for each in sides)),
        (
            "killed executions, and how many of these passed",
            *(f"{each['kills']}, {each['kills_passed']}" for each in sides),
        ),
        ("writing calls that were repeated", *(each["writes_repeated"] for each in sides)),
        ("median seconds of a task", *(f"{each['seconds']:.2f}" for each in sides)),
    ]


def _share(side: dict) -> str:
    return f"{side['pass_all']} ({100 * side['pass_all'] / side['tasks']:.0f} %)"
