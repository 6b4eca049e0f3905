"""The names that journals of executions hold, for the list of frozen names."""

from enum import Enum

from actors.execution import events
from actors.execution.config import ExecutionConfig
from actors.execution.events import GOALS_FAILED, StepOutcome, TroubleCause
from actors.execution.ids import (
    WORKSPACE_END,
    WORKSPACE_START,
    attempt_node,
    phase_node,
    proof_node,
    replan_node,
    trouble_node,
    undo_node,
    undo_question_node,
)
from actors.execution.state import AttemptPhase
from actors.execution.undo import EffectEnd
from actors.run.ending import UNDONE
from actors.run.ids import child_run, try_id
from actors.run.tools import ToolOutcome
from actors.tools.uses import ToolSet
from tests.journal.list_stored_names import Names, keys_of, names_of_events, words_of

TOOL_SET = {ToolSet: "tool set"}
"""What a tools file is pinned as."""
WORDS: dict[type[Enum], str] = {
    TroubleCause: "cause",
    StepOutcome: "step outcome",
    ToolOutcome: "tool outcome",
    EffectEnd: "effect end",
}
"""The closed sets whose words only executions store."""


def execution_names(common):
    """Return the names that this release writes; `common` names the classes of all kinds."""
    names = Names({**common, **TOOL_SET, **WORDS}, events.EVENTS)
    attempt = attempt_node("s", 2, 1, 3)
    return {
        "events": names_of_events(events.EVENTS, names),
        "values": {"execution pinned": keys_of(ExecutionConfig, names)},
        "words": words_of(WORDS) | {"outcome": [GOALS_FAILED, UNDONE]},
        "ids": {
            "attempt": attempt,
            "phases": {str(phase): phase_node(attempt, phase) for phase in AttemptPhase},
            "tool's call": try_id(f"tool:{phase_node(attempt, AttemptPhase.ACT)}", 1),
            "second call": try_id(f"tool:{phase_node(attempt, AttemptPhase.ACT)}", 2),
            "question about an outcome": phase_node(attempt, "outcome"),
            "back-off": f"rest:{attempt}",
            "first snapshot": WORKSPACE_START,
            "last snapshot": WORKSPACE_END,
            "replan": replan_node(2, 1),
            "run of a replan": child_run("k7m2x9qa", replan_node(2, 1)),
            "proof": proof_node(2, 1),
            "undo of an effect": undo_node(3),
            "call that undoes": try_id(f"tool:{undo_node(3)}", 1),
            "question about an undo": undo_question_node(3),
            "step done by hand": "s/r2.v1.hand",
            "question about a trouble": trouble_node(1),
            "question of a planning run": trouble_node(1, planner_asks=True),
        },
    }
