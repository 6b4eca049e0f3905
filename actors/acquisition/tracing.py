"""The moves of an acquisition through its graph, for traces and metrics. Pure."""

from collections.abc import Sequence

from actors.acquisition.events import AcquisitionEvent, Routed
from actors.run.traced import Marked, Traced, Tracing


def _facts(event: AcquisitionEvent) -> Sequence[Traced]:
    if not isinstance(event, Routed):
        return ()
    fields = {"outcome": event.outcome, "to": event.to, "origin": str(event.decision_origin)}
    return (Marked(f"leave {event.node}", fields=fields),)


TRACING: Tracing[AcquisitionEvent] = Tracing(facts=_facts)
"""What traces show of an acquisition beside its calls and searches: its path through the graph."""
