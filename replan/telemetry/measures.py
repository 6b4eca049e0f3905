"""What is counted of a record: calls, tokens, money, decisions and ends, as values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.run.calls import CallFailed, Replied, Settled
from actors.run.ending import RunFinished
from actors.run.kind import Kind
from actors.run.tools import ToolFinished
from actors.run.traced import Marked
from replan.telemetry import conventions as names
from replan.telemetry.conventions import model_label
from runtime.core.events import Record
from runtime.core.ledger import MICRO


@dataclass(frozen=True, slots=True)
class Measure:
    """One measured value."""

    instrument: str
    """The name of the instrument that takes it."""
    value: float
    """The value, in the instrument's unit."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What it is counted by; each has few values."""


CALLS = "replan.calls"
COST = "replan.cost"
TOKENS = "replan.tokens"
DECISIONS = "replan.decisions"
ENDED = "replan.runs.ended"
TOOLS = "replan.tools"


def measures_of(kind: Kind[Any, Any], record: Record[Any], *, by_child: bool = False) -> list[Measure]:
    """Return what a record adds to the metrics. `by_child`: it is about a call of a child run, which counts itself."""
    event, about = record.event, {names.KIND: kind.name}
    measures: list[Measure] = []
    match event:
        case Replied() | CallFailed() | Settled() if by_child:
            pass
        case Replied():
            measures = _replied(event, about)
        case CallFailed():
            error = {names.OPERATION: names.CHAT, names.ERROR_TYPE: str(event.fault.kind), **about}
            measures = [
                Measure(CALLS, 1, {names.OUTCOME: str(event.fault.kind), **about}),
                Measure(names.OPERATION_DURATION, event.elapsed, error),
            ]
        case Settled():
            late = {names.OUTCOME: "late", **about}
            measures = [
                Measure(CALLS, event.used.calls, late),
                Measure(TOKENS, event.used.tokens, about),
                Measure(COST, event.used.micro_usd / MICRO, about),
            ]
        case ToolFinished():
            measures = [Measure(TOOLS, 1, {names.OUTCOME: str(event.outcome), **about})]
        case RunFinished():
            measures = [Measure(ENDED, 1, {names.OUTCOME: str(event.outcome), **about})]
        case _:
            pass
    for fact in kind.views.tracing.facts(event):
        if isinstance(fact, Marked) and fact.rule:
            measures.append(Measure(DECISIONS, 1, {names.RULE: fact.rule, names.LEVEL: fact.level, **about}))
    return measures


def _replied(event: Replied, about: Mapping[str, str]) -> list[Measure]:
    chat = {names.OPERATION: names.CHAT, names.RESPONSE_MODEL: model_label(event.model), **about}
    measures = [
        Measure(CALLS, event.used.calls, {names.OUTCOME: "replied", **about}),
        Measure(TOKENS, event.used.tokens, about),
        Measure(COST, event.used.micro_usd / MICRO, about),
        Measure(names.OPERATION_DURATION, event.elapsed, chat),
    ]
    if event.usage is not None:
        tokens = {"input": event.usage.input_tokens, "output": event.usage.output_tokens}
        measures += [
            Measure(names.TOKEN_USAGE, count, {names.TOKEN_TYPE: side, **chat}) for side, count in tokens.items()
        ]
    return measures
