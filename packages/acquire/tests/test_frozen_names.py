"""The names that journals of acquisition runs hold do not change. `tests/journal/test_frozen_names.py` has the others.

`python -m packages.acquire.tests.test_frozen_names` prints what this release writes.
"""

import json
from enum import Enum
from functools import cache
from pathlib import Path

from actors.run.ids import try_id
from actors.run.tools import ToolOutcome
from replan_acquire.acquisition import events, planner_state, profile
from replan_acquire.acquisition.planner_state import PlannerDecision, Writes
from replan_acquire.acquisition.state import RunConfig
from replan_acquire.acquisition.values import FieldValue
from tests.journal.list_stored_names import Names, lost, names_of_events, names_of_values, pretty, words_of
from tests.journal.test_frozen_names import VALUES
from tests.journal.test_frozen_names import WORDS as OF_ALL

NAMED = {
    FieldValue: "field value",
    PlannerDecision: "planner decision",
    RunConfig: "acquisition pinned",
    Writes: "writes",
    planner_state.LatestCalculation: "calculation",
    planner_state.CalculationError: "calculation error",
    planner_state.CalculatedValue: "calculation step",
    planner_state.Reflection: "reflection",
    planner_state.Rejection: "rejected value",
    planner_state.SearchMade: "search made",
    profile.Calculator: "calculator",
    profile.Caps: "caps",
    profile.FormulaCheck: "check",
    profile.Decomposition: "decomposition",
    profile.FieldSpec: "field",
    profile.Profile: "acquisition profile",
    profile.ResultSpec: "result",
}
"""The classes of which a journal may hold values, beside those of all kinds."""
WORDS: dict[type[Enum], str] = {ToolOutcome: "tool outcome"}
"""The closed sets whose words are stored."""


@cache
def stored_names():
    """Return the names that this release writes."""
    for model in (profile.FieldSpec, profile.Decomposition, profile.Profile, RunConfig, Writes):
        model.model_rebuild(force=True)
    names = Names({**VALUES, **OF_ALL, **NAMED, **WORDS}, events.EVENTS)
    return {
        "events": names_of_events(events.EVENTS, names),
        "values": names_of_values([RunConfig], names),
        "words": words_of(WORDS) | {"outcome": [events.INCOMPLETE]},
        "ids": {
            "call": "plan/v2.a1",
            "second try": try_id("plan/v2.a1", 2),
            "search": try_id("tool:search/v3", 1),
            "question": "ask_user/v1",
        },
    }


def frozen():
    return json.loads(Path(__file__).with_name("frozen_names.json").read_text(encoding="utf-8"))


def test_no_stored_name_is_lost_or_means_something_else():
    assert list(lost(frozen(), stored_names())) == []


def test_every_new_stored_name_is_added_to_the_list():
    assert list(lost(stored_names(), frozen())) == []


if __name__ == "__main__":
    print(pretty(stored_names()))
