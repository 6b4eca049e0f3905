"""Records of an acquisition run as text, in full for the log and in part for a live view. Pure."""

from actors.acquisition.call_events import DecompositionRequested, ObservationRequested
from actors.acquisition.events import AcquisitionEvent, AcquisitionStarted, Routed, ValueTold
from actors.acquisition.result_lines import value_text
from actors.acquisition.state import AcquisitionState
from actors.run import records
from actors.values.format import counted

_TOLD = frozenset(
    {"enter_iteration", "search", "observe", "calculate", "reflect", "observe_user", "plan", "retry_gate"}
)
"""The nodes whose hops are news in a live view; the others follow from them."""


def record_text(event: AcquisitionEvent, state: AcquisitionState) -> str:
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


def news_text(event: AcquisitionEvent, state: AcquisitionState) -> str:
    """Return the line that progress shows for an event, from the state after it; empty where it is no news."""
    match event:
        case Routed():
            kept = event.node == "retry_gate" and event.outcome == "kept"
            return "" if event.node not in _TOLD or kept else f"{event.node}: {event.reason}"
        case _:
            return "" if records.is_silent(event) else records.short_text(event) or record_text(event, state)
