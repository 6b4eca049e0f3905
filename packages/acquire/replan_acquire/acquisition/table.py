"""The table of nodes, with their gates, their edges and the fields that they own."""

from functools import lru_cache

from replan_acquire.acquisition import gates
from replan_acquire.acquisition.gates import missing_outcome, require_field, require_node
from replan_acquire.acquisition.graph import END, AcquisitionGraph, GraphNode
from replan_acquire.acquisition.profile import Profile

DECISION = frozenset({"decision", "decision_origin"})


def graph_for(profile: Profile) -> AcquisitionGraph:
    """Return the table for a profile, with a node `require_FIELD` for each of its bootstrap fields."""
    return _graph(profile.bootstrap)


@lru_cache(maxsize=64)
def _graph(bootstrap: tuple[str, ...]) -> AcquisitionGraph:
    required = {missing_outcome(path): require_node(path) for path in bootstrap}
    nodes = [
        GraphNode(
            "enter_iteration",
            gates.enter_iteration,
            {"continue": "prepare_schema", "aborted": "finish", "iterations_exceeded": "finish"},
            frozenset({"iterations"}),
        ),
        GraphNode(
            "prepare_schema",
            gates.prepare_schema,
            {
                "already_current": "finish",
                "calculator_cap": "finish",
                "stopped": "finish",
                **required,
                "ready": "acquisition_gate",
            },
            frozenset({"values", "decompositions"}),
            "a decomposition by the model",
        ),
        *(
            GraphNode(
                require_node(path),
                require_field(path),
                {"ask": "ask_user", "exhausted": "finish"},
                DECISION | {"status"},
            )
            for path in bootstrap
        ),
        GraphNode(
            "acquisition_gate",
            gates.acquisition_gate,
            {"task": "normalize_decision", "all_collected": "maybe_calculate", "undecided": "plan"},
            DECISION,
        ),
        GraphNode(
            "plan",
            gates.plan,
            {"decided": "normalize_decision", "failed": "normalize_decision"},
            DECISION,
            "a decision by the model",
        ),
        GraphNode(
            "normalize_decision",
            gates.normalize_decision,
            {"kept": "retry_gate", "rewritten": "retry_gate"},
            DECISION | {"decompositions"},
            "a decomposition by the model",
        ),
        GraphNode(
            "retry_gate",
            gates.retry_gate,
            {"kept": "maybe_calculate", "rewritten": "maybe_calculate", "aborted": "maybe_calculate"},
            DECISION | {"status"},
        ),
        GraphNode(
            "maybe_calculate",
            gates.maybe_calculate,
            {name: name for name in ("calculate", "search", "ask_user", "reflect", "finish")},
            DECISION,
        ),
        *_actions(),
        GraphNode("finish", gates.finish, {"end": END}),
    ]
    return AcquisitionGraph({node.name: node for node in nodes})


def _actions() -> list[GraphNode]:
    again = "enter_iteration"
    return [
        GraphNode(
            "search",
            gates.search,
            {"observed": "observe", "no_hits": again, "backend_failure": again},
            frozenset({"searches", "last_observation"}),
            "the search tool",
        ),
        GraphNode(
            "observe",
            gates.observe,
            {"found": again, "nothing_found": again, "unreadable": again},
            frozenset({"values", "rejections"}),
            "an observation by the model",
        ),
        GraphNode(
            "ask_user",
            gates.ask_user,
            {"answered": "observe_user", "declined": "observe_user", "expired": "observe_user"},
            frozenset({"asked"}),
            "the user's answer",
        ),
        GraphNode(
            "observe_user", gates.observe_user, {"taken": again, "unanswered": again}, frozenset({"values", "refused"})
        ),
        GraphNode("calculate", gates.calculate, {"succeeded": again, "blocked": again}, frozenset({"calculation"})),
        GraphNode(
            "reflect",
            gates.reflect,
            {"reviewed": again, "unreadable": again},
            frozenset({"reflections"}),
            "a review by the model",
        ),
    ]
