"""The names that journals of acquisition runs hold, for the list of frozen names."""

from enum import Enum

from actors.acquisition import events, planner_state, profile
from actors.acquisition.planner_state import PlannerDecision, Writes
from actors.acquisition.state import RunConfig
from actors.acquisition.values import FieldValue
from actors.run.ids import try_id
from actors.run.tools import ToolOutcome
from tests.journal.list_stored_names import Names, names_of_events, names_of_values, words_of

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


def acquisition_names(common):
    """Return the names that this release writes; `common` names the classes of all kinds."""
    for model in (profile.FieldSpec, profile.Decomposition, profile.Profile, RunConfig, Writes):
        model.model_rebuild(force=True)
    names = Names({**common, **NAMED, **WORDS}, events.EVENTS)
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
