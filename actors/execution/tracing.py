"""The attempts, checks and decisions of an execution, for traces and metrics. Pure."""

from collections.abc import Collection, Sequence

from actors.execution.events import (
    AttemptDecided,
    ExecutionEvent,
    PlanRevised,
    ProofReached,
    ProofRequested,
    StepSettled,
    TroubleDecided,
)
from actors.execution.ids import attempt_node, place_of
from actors.run.traced import CheckBegan, CheckEnded, Marked, Scalar, Traced, Tracing


def _attempt(node: str) -> str:
    place = place_of(node)
    return "" if place is None else attempt_node(place.name, place.revision, place.visit, place.number)


def _facts(event: ExecutionEvent) -> Sequence[Traced]:
    match event:
        case ProofRequested():
            return (CheckBegan(event.request_id, event.node, event.guard),)
        case ProofReached(verdict=verdict):
            codes = tuple(dict.fromkeys(finding.code for finding in verdict.errors))
            return (CheckEnded(event.node, event.node, verdict.guard, verdict.passed, verdict.score, codes),)
        case AttemptDecided():
            name = "attempt_again" if event.again else "give_up_attempts"
            return (Marked(name, event.node, {"code": event.code}, rule=event.rule, level=str(event.level)),)
        case StepSettled():
            codes = tuple(dict.fromkeys(finding.code for finding in event.findings))
            return (
                Marked(f"settle_step {event.outcome}", event.node, {"handed_over": event.handed_over, "codes": codes}),
            )
        case TroubleDecided():
            fields: dict[str, Scalar] = {"cause": str(event.cause), "code": event.code, "asks": event.asks}
            return (Marked(f"decide {event.level}", "", fields, rule=event.rule, level=str(event.level)),)
        case PlanRevised():
            return (Marked(f"revise {event.level}", fields={"revision": event.revision}),)
        case _:
            return ()


def _ended(event: ExecutionEvent, attempts: Sequence[str]) -> Collection[str]:
    match event:
        case AttemptDecided() | StepSettled():
            return (event.node,)
        case PlanRevised():
            return attempts
        case _:
            return ()


TRACING: Tracing[ExecutionEvent] = Tracing(_attempt, _facts, _ended)
"""What traces show of an execution: an attempt of a step is its tools, files and checks."""
