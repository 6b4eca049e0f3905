"""The views of acquisition runs. Pure."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from actors.acquisition.events import (
    AcquisitionEvent,
    AcquisitionStarted,
    DecompositionRequested,
    ObservationRequested,
    Routed,
    ValueTold,
)
from actors.acquisition.machine import AcquisitionMachine
from actors.acquisition.path_tree import path_flow, path_tree
from actors.acquisition.result import Result, outcome_lines, result_of, value_text
from actors.acquisition.state import State
from actors.run import records
from actors.run.rebuilt_prompt import rebuilt_prompt
from actors.run.traced import Marked, Traced, Tracing
from actors.run.views import Document, Views, budget_line
from actors.values.format import counted
from actors.values.lines import Line

_TOLD = frozenset(
    {"enter_iteration", "search", "observe", "calculate", "reflect", "observe_user", "plan", "retry_gate"}
)
"""The nodes whose hops are news in a live view; the others follow from them."""


def record_text(event: AcquisitionEvent, state: State) -> str:
    """Return what happened, in one line that is not yet sanitised, from the state after it."""
    match event:
        case AcquisitionStarted():
            return f"run {event.run} started, {counted(event.limits.calls, 'call')} at most"
        case Routed():
            return f"{event.node} => {event.to} ({event.outcome}, {event.decision_origin}): {event.reason}"
        case ValueTold():
            return f"a person tells {event.path}: {value_text(event.value)}"
        case ObservationRequested() | DecompositionRequested():
            return f"{records.record_text(event, state)}, about {event.path}"
        case _:
            return records.record_text(event, state)


def news_text(event: AcquisitionEvent, state: State) -> str:
    """Return the line that progress shows for an event, from the state after it; empty where it is no news."""
    match event:
        case Routed():
            kept = event.node == "retry_gate" and event.outcome == "kept"
            return "" if event.node not in _TOLD or kept else f"{event.node}: {event.reason}"
        case _:
            return "" if records.is_silent(event) else records.short_text(event) or record_text(event, state)


def _facts(event: AcquisitionEvent) -> Sequence[Traced]:
    if not isinstance(event, Routed):
        return ()
    fields = {"outcome": event.outcome, "to": event.to, "origin": str(event.decision_origin)}
    return (Marked(f"leave {event.node}", fields=fields),)


def log_fields(event: AcquisitionEvent, state: State) -> Mapping[str, str | int]:
    """Return what an event is about, for logs; a node of the graph is its own step."""
    return {"step": event.node, "node": event.node} if isinstance(event, Routed) else records.log_fields(event, state)


def _lines(result: Any, program: str) -> list[Line]:
    return outcome_lines(result, program)


def _progress(state: State, now: float) -> Line:
    known = state.config.price is not None
    return budget_line(state, now, price_known=known, working=bool(state.run.calls.open or state.run.tools))


def _report(_: State, result: Result, __: str) -> Document:
    from actors.acquisition.result import markdown  # noqa: PLC0415 -- most commands show none

    return Document(text=markdown(result))


def _graph(state: State, _: Result, __: str) -> Document:
    from actors.acquisition.path_tree import graph_mermaid  # noqa: PLC0415 -- as above
    from actors.acquisition.table import graph_for  # noqa: PLC0415 -- as above

    return Document(text=graph_mermaid(graph_for(state.config.profile), [(each.node, each.to) for each in state.path]))


VIEWS: Views[State, AcquisitionEvent] = Views(
    result=result_of,
    result_lines=_lines,
    tree=path_tree,
    tree_title="Passes",
    flow=path_flow,
    flow_title="Path",
    record_text=record_text,
    news_text=news_text,
    progress=_progress,
    prompt=partial(rebuilt_prompt, AcquisitionMachine()),
    documents={"markdown": _report, "mermaid": _graph},
    tracing=Tracing(facts=_facts),
)
"""How acquisition runs are shown."""
