"""The records of any run, as text for people and as plain data. Pure."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from actors.run.calls import CallFailed, CallReissued, CallRequested, Replied, Settled
from actors.run.ending import RunFinished
from actors.run.fork_event import Forked
from actors.run.ids import node_of, step_of
from actors.run.inbox import MailRefused, NoteTold, RequirementTold
from actors.run.near_limit import LimitNear
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import (
    WAYS,
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded
from actors.run.reminders import step_text
from actors.run.settings import SettingsChanged
from actors.run.tools import (
    ToolCheckRequested,
    ToolCost,
    ToolFinished,
    ToolProcessEnded,
    ToolReissued,
    ToolRequested,
    ToolStarted,
)
from actors.run.waits import HOME_BUDGET, PROVIDER, WaitEnded, WaitRequested
from actors.values.format import format_count, money, stamp
from actors.values.question_form import IF_DECLINED
from runtime.core.events import Event
from runtime.core.ledger import MICRO
from runtime.core.names import describe


def record_text(event: Any, state: Any) -> str:
    """Return an event in one line, not yet sanitised.

    For an event that only one kind of run has, the line is the event's name.

    `state` is any state after the event. The texts of questions are read from the state.
    """
    match event:
        case RunResumed():
            return "resumed"
        case Forked():
            return f"forked from run {event.origin} after its record {event.seq}"
        case RunParked():
            return f"parked: {event.why}" if event.why else "parked"
        case CallRequested():
            most = format_count(event.tokens_max, "token") if event.calls <= 1 else format_count(event.calls, "call")
            return f"{event.request_id} requested, {most} at most"
        case CallReissued():
            return f"{event.again.request_id} requested again, because {event.replaces} was interrupted"
        case Replied():
            tokens = format_count(event.used.tokens, "token")
            return f"{event.request_id} answered after {event.elapsed:.1f} s, {tokens}{event.notices_text}"
        case CallFailed():
            return f"{event.request_id} got no reply: {event.fault.kind}: {event.fault.message}"
        case Settled():
            return f"{event.request_id} was withdrawn; its late reply cost {format_count(event.used.tokens, 'token')}"
        case WaitRequested() if event.for_provider:
            return f"the run waits for the provider until {stamp(event.until)}: {event.why}"
        case WaitRequested():
            return f"{event.node or 'the run'} waits until {stamp(event.until)}: {event.why}"
        case WaitEnded(request_id=name):
            return "the provider is up again" if name == PROVIDER else f"{name} is over"
        case NoteTold():
            return f"you noted: {event.text}"
        case RequirementTold():
            return f"you require: {event.text}"
        case SettingsChanged():
            return f"you changed {_changes_text(event)}"
        case LimitNear():
            return event.text
        case MailRefused():
            return f"a message was refused: {event.reason}"
        case RunFinished():
            return f"finished: {event.outcome}, {event.why}"
        case _:
            return _question_text(event, state)


def _question_text(event: Any, state: Any) -> str:
    match event:
        case ClarificationRequested():
            return f"question {event.question_id} ({event.why}): {event.text}"
        case ClarificationAnswered():
            return f"question {event.question_id} answered{_from(event)}"
        case ClarificationDeclined():
            return f"question {event.question_id} declined{_from(event)}; {_consequence_text(event, state)}"
        case ClarificationWithdrawn():
            request = state.run.questions[event.question_id].request
            of_limit = "the limits or the model changed" if request.of_run_limit else "the run no longer waits"
            why = "its step is redone" if request.reached is None else of_limit
            return f"question {event.question_id} withdrawn, because {why}"
        case ClarificationExpired():
            return f"question {event.question_id} expired; {_consequence_text(event, state)}"
        case ClarificationReminded():
            return f"question {event.question_id} is not answered: {step_text(())}"
        case ClarificationEscalated():
            return f"question {event.question_id} is not answered: {step_text(event.added)}"
        case _:
            return _tool_text(event)


def _from(event: ClarificationAnswered | ClarificationDeclined) -> str:
    by = " by a program," if event.via in ("api", "mcp") else f" by {event.person}" if event.person else ""
    return f"{by}{WAYS[event.via]}"


def _consequence_text(event: ClarificationDeclined | ClarificationExpired, state: Any) -> str:
    text = state.run.questions[event.question_id].request.otherwise.removeprefix(IF_DECLINED)
    return f"{text[:1].lower()}{text[1:]}".removesuffix(".")


def _tool_text(event: Any) -> str:
    match event:
        case ToolRequested():
            return f"{event.request_id} calls {event.tool}: {event.arguments}"
        case ToolStarted():
            return f"{event.request_id} started" + (f" as {describe(event.process)}" if event.process else "")
        case ToolFinished():
            result = event.reason or event.output
            cost = f" ({cost_text(event.cost)})" if event.cost is not None else ""
            return f"{event.request_id} {event.outcome}{cost}" + (f": {result}" if result else "")
        case ToolCheckRequested():
            return f"{event.call} was interrupted; its process is ended first"
        case ToolProcessEnded():
            return f"{event.call}: " + (
                "its process has ended" if event.certain else "this machine cannot see its process"
            )
        case ToolReissued():
            return f"{event.again.request_id} calls {event.again.tool} again, in place of {event.replaces}"
        case _:
            return str(event.kind).replace("_", " ")


def cost_text(cost: ToolCost) -> str:
    """Return the cost of a call of a tool, in words."""
    dollars = "cost unknown" if cost.micro_usd is None else money(cost.micro_usd / MICRO)
    numbers = {"token": cost.input_tokens + cost.output_tokens, "turn": cost.turns}
    return ", ".join((dollars, *(format_count(number, what) for what, number in numbers.items() if number)))


def node_of_event(event: Any, state: Any) -> str:
    """Return the node that an event, its request or its question is about; empty if the event is about the run."""
    match event:
        case CallReissued() | ToolReissued():
            node = event.again.node
        case ToolCheckRequested() | ToolProcessEnded():
            node = event.call
        case CallFailed() | Settled() | ToolStarted() | ToolFinished() | WaitRequested() | WaitEnded():
            # The id of a wait is its kind, a colon and its subject (`rest:NODE`). A wait of the whole run has no colon.
            node = node_of(event.request_id.rpartition(":")[2])
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            node = event.question_id
        case ClarificationReminded() | ClarificationEscalated():
            node = event.question_id
        case _:
            node = getattr(event, "node", "")
    if node in state.run.questions:
        node = state.run.questions[node].request.node
    return node.removeprefix("tool:") if "/" in node else ""


def log_fields(event: Any, state: Any) -> Mapping[str, str | int]:
    """Return `step` and `node` of an event that names a node, a request or a question; empty for other events."""
    node = node_of_event(event, state)
    return {"step": step_of(node), "node": node} if node else {}


def _changes_text(event: SettingsChanged) -> str:
    parts = []
    if event.limits is not None:
        limits = event.limits.model_dump(exclude_none=True)
        texts = {name: value if isinstance(value, str) else f"{value:,.12g}" for name, value in limits.items()}
        parts.append(f"the limits (now {', '.join(f'{name} {text}' for name, text in texts.items())})")
    if event.model is not None:
        parts.append(f"the model to {event.model}")
    if event.timeout_seconds is not None:
        parts.append(f"the time limit of a call to {event.timeout_seconds:g} s")
    if event.output_tokens_max is not None:
        parts.append(f"the token limit of a reply to {event.output_tokens_max:,}")
    for name, value in event.model_settings.items():
        shown = "the provider's default" if value is None else json.dumps(value)
        parts.append(f"the setting {name} to {shown}")
    if event.strict:
        parts.append("the check of plans: a plan is rejected if a demand of the text is in no step")
    return " and ".join(parts)


def news_text(event: Any, state: Any, text: Callable[[Any, Any], str] | None = None) -> str:
    """Return the line that progress shows for an event; empty if progress does not show the event.

    `text` returns an event in one line; None means `record_text`. Progress does not show a request, but shows the event
    after its reply. A request that takes long is shown as an open call.
    """
    return "" if isinstance(event, CallRequested) else action_text(event, state, text)


def action_text(event: Any, state: Any, text: Callable[[Any, Any], str] | None = None) -> str:
    """Return the line for an event in a list of a run's actions. Unlike `news_text`, it returns lines for requests."""
    if _is_silent(event):
        return ""
    if isinstance(event, RunFinished):  # The result shows everything else.
        return f"finished: {event.outcome}"
    return (text or record_text)(event, state)


def _is_silent(event: Any) -> bool:
    """Return whether progress shows no line for an event, because other lines already show the same."""
    match event:
        case Replied() | Settled() | WaitEnded():
            return True
        case WaitRequested() if event.for_provider:
            return True
        case WaitRequested(node=None):
            return event.request_id != HOME_BUDGET
        case RunParked(handover=True, why=why):
            return bool(why)  # The caller shows the reason, with the next step.
        case _:
            return False


_DERIVED = ("request_id", "node", "step")
"""The names of the event properties that the JSON of an event has besides the stored fields. With these properties,
readers of the JSON need not parse ids."""


def record_fields(event: Any) -> Mapping[str, Any]:
    """Return an event as plain data without its time, because the record shows the time."""
    assert isinstance(event, Event)
    values = event.model_dump(mode="json")
    values.pop("at", None)
    values.pop("mono", None)
    for name in event.added_fields:
        if getattr(event, name) == type(event).model_fields[name].default:
            values.pop(name, None)
    derived = {name: value for name in _DERIVED if isinstance(value := getattr(event, name, None), str)}
    return {**values, **derived}
