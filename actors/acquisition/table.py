"""The table of nodes, with their gates, edges and the fields that they own."""

from collections.abc import Mapping
from functools import lru_cache

from actors.acquisition import gate_policy, gates
from actors.acquisition.gates import missing_outcome, require_field, require_node
from actors.acquisition.graph import END, AcquisitionGraph, GraphNode
from actors.acquisition.profile import Profile

DECISION = frozenset({"decision", "decision_origin"})
"""The fields that the gates of decisions own."""


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
            gate_policy.normalize_decision,
            {"kept": "retry_gate", "rewritten": "retry_gate"},
            DECISION | {"decompositions"},
            "a decomposition by the model",
        ),
        GraphNode(
            "retry_gate",
            gate_policy.retry_gate,
            {"kept": "maybe_calculate", "rewritten": "maybe_calculate", "aborted": "maybe_calculate"},
            DECISION | {"status"},
        ),
        GraphNode(
            "maybe_calculate",
            gate_policy.maybe_calculate,
            {name: name for name in ("calculate", "search", "ask_user", "reflect", "finish")},
            DECISION,
        ),
        *_actions(),
        GraphNode("finish", gates.finish, {"end": END}),
    ]
    return AcquisitionGraph({node.name: node for node in nodes})


def _actions() -> list[GraphNode]:
    """Return the nodes that execute a decision."""
    again = "enter_iteration"
    outcomes: Mapping[str, Mapping[str, str]] = {
        "search": {"observed": "observe", "no_hits": again, "backend_failure": again},
        "observe": {"found": again, "nothing_found": again, "unreadable": again},
        "ask_user": {"answered": "observe_user", "declined": "observe_user", "expired": "observe_user"},
        "observe_user": {"taken": again, "unanswered": again},
        "calculate": {"succeeded": again, "blocked": again},
        "reflect": {"reviewed": again, "unreadable": again},
    }
    return [
        GraphNode(
            "search",
            gates.search,
            outcomes["search"],
            frozenset({"searches", "last_observation"}),
            "the search tool",
        ),
        GraphNode(
            "observe",
            gates.observe,
            outcomes["observe"],
            frozenset({"values", "rejections"}),
            "an observation by the model",
        ),
        GraphNode("ask_user", gates.ask_user, outcomes["ask_user"], frozenset({"asked"}), "the user's answer"),
        GraphNode("observe_user", gates.observe_user, outcomes["observe_user"], frozenset({"values", "refused"})),
        GraphNode("calculate", gates.calculate, outcomes["calculate"], frozenset({"calculation"})),
        GraphNode("reflect", gates.reflect, outcomes["reflect"], frozenset({"reflections"}), "a review by the model"),
    ]
