"""Records of a run as events of AG-UI 1.0, the protocol by which front ends show an agent. Pure.

A model call is a step (`STEP_STARTED`, `STEP_FINISHED`), a call of a tool is a tool call, and an open question is an
interrupt. Each record is a `CUSTOM` event too, so that nothing is lost that the protocol has no event for.

Source: the specification of AG-UI 1.0, https://ag-ui.com/spec/1.0/schema.json.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actors.run.calls import CallFailed, CallReissued, CallRequested, Replied, Settled
from actors.run.kind import Kind
from actors.run.open_question import question_parts
from actors.run.tools import ToolFinished, ToolReissued, ToolRequested
from actors.run.words import in_words
from replan.views.records import record_to_json
from runtime.core.events import Record
from runtime.logs.terminal_text import clean

AgUiEvent = dict[str, Any]
"""An event as it is sent: its `type`, and its fields in camel case."""
PROTOCOL = "1.0"
"""The version of AG-UI."""


class AgUiSteps:
    """Turns records into events, in their order; remembers the steps that are open."""

    def __init__(self, kind: Kind[Any, Any]) -> None:
        self._kind, self._open = kind, dict[str, str]()

    def of_record(self, record: Record[Any]) -> Iterator[AgUiEvent]:
        """Yield the events of one record."""
        common = {"timestamp": int(record.at * 1000)}
        for event in self._of_event(record.event):
            yield {**event, **common}
        value = record_to_json(self._kind, record)
        yield {"type": "CUSTOM", "name": "replan.record", "value": value, **common}

    def ended(self) -> Iterator[AgUiEvent]:
        """Yield the ends of the steps that are open where a stream ends."""
        for request_id in tuple(self._open):
            yield from self._finish_events(request_id)

    def _of_event(self, event: Any) -> Iterator[AgUiEvent]:
        match event:
            case CallRequested():
                yield self._start_event(event.request_id)
            case CallReissued(replaces=replaced, again=again):
                yield from self._finish_events(replaced)
                yield self._start_event(again.request_id)
            case Replied() | CallFailed() | Settled():
                yield from self._finish_events(event.request_id)
            case ToolRequested():
                yield from _tool_call(event)
            case ToolReissued(again=again):
                yield from _tool_call(again)
            case ToolFinished():
                yield {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": f"{event.request_id}:result",
                    "toolCallId": event.request_id,
                    "content": clean(event.output or event.reason),
                    "role": "tool",
                }
            case _:
                pass

    def _start_event(self, request_id: str) -> AgUiEvent:
        name = in_words(request_id)
        self._open[request_id] = request_id if name in self._open.values() else name
        return {"type": "STEP_STARTED", "stepName": self._open[request_id]}

    def _finish_events(self, request_id: str) -> Iterator[AgUiEvent]:
        if (name := self._open.pop(request_id, None)) is not None:
            yield {"type": "STEP_FINISHED", "stepName": name}


def _tool_call(call: ToolRequested) -> Iterator[AgUiEvent]:
    yield {"type": "TOOL_CALL_START", "toolCallId": call.request_id, "toolCallName": call.tool}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": call.request_id, "delta": call.arguments}
    yield {"type": "TOOL_CALL_END", "toolCallId": call.request_id}


def text_message(message_id: str, text: str) -> Iterator[AgUiEvent]:
    """Yield the events of a whole message of the agent."""
    yield {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": text}
    yield {"type": "TEXT_MESSAGE_END", "messageId": message_id}


def interrupt_of(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return an open question as an interrupt; a program may not answer one with `peopleOnly` in its metadata."""
    found = {
        "id": str(question["id"]),
        "reason": str(question["why"]),
        "message": clean("\n".join(part for part, _ in question_parts(question))),
        "responseSchema": dict(question["answer_schema"]),
        "metadata": {"peopleOnly": bool(question.get("people_only")), "priority": question["priority"]},
    }
    return {**found, "expiresAt": question["until"]} if "until" in question else found


def outcome_of(outcome: str, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return why a stream ends: the run's `outcome`, or the questions that it waits for."""
    if questions:
        return {"type": "interrupt", "interrupts": [interrupt_of(question) for question in questions]}
    return {"type": "cancelled" if outcome == "cancelled" else "success"}
