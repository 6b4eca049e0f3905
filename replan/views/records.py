"""Records of a run and replies of its models, as lines and as plain data, whatever its kind. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from actors.run.calls import CallFailed, Replied
from actors.run.ids import node_of
from actors.run.kind import Kind
from actors.run.tools import ToolFinished, ToolOutcome, ToolReissued, ToolRequested
from actors.run.words import in_words
from actors.values.format import stamp
from actors.values.lines import Line, StyledSpan, columns
from runtime.core.events import Record
from runtime.logs.terminal_text import clean

OUTPUT_MAX = 2_000
"""Characters of an output that the page of a run shows; the page of the call has all."""


def record_line(
    kind: Kind[Any, Any], record: Record[Any], state: Any, *, worded: Callable[[str], str] = in_words
) -> Line:
    """Return a record as one line, from the state after it: its number, its time, what happened."""
    text = clean(worded(kind.views.record_text(record.event, state)), one_line=True)
    named = Line((StyledSpan(text, run=record.run if record.run in text else ""),))
    return columns(f"{record.seq:>4}", stamp(record.at), named)


def record_to_json(kind: Kind[Any, Any], record: Record[Any]) -> dict[str, Any]:
    """Return a record as plain data; `at` is when it was written, as ISO 8601 in UTC."""
    position = {"seq": record.seq, "at": stamp(record.at), "epoch": record.epoch}
    return {**position, **kind.views.record_fields(record.event)}


def replies(records: Iterable[Record[Any]], node: str) -> list[dict[str, Any]]:
    """Return the replies, and the faults in the place of replies, to the calls that were made for a node, in order."""
    found = []
    for record in records:
        match record.event:
            case Replied() as event if event.node == node:
                usage = None if event.usage is None else event.usage.tokens
                fields = {"content": event.content, "tokens": usage, "finish_reason": event.finish_reason}
                found.append({**_place(record), "request_id": event.request_id, **fields, "fault": None})
            case CallFailed() as event if node_of(event.request_id) == node:
                fault = f"{event.fault.kind}: {event.fault.message}"
                fields = {"content": "", "tokens": None, "finish_reason": ""}
                found.append({**_place(record), "request_id": event.request_id, **fields, "fault": fault})
            case _:
                pass
    return found


def last_replies(records: Iterable[Record[Any]]) -> dict[str, int]:
    """Return the nodes that have replies, or faults in the place of them, each with the number of the last record."""
    return {
        node_of(record.event.request_id): record.seq
        for record in records
        if isinstance(record.event, Replied | CallFailed)
    }


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A call of a tool that has ended, and its output."""

    node: str
    """What the call was for."""
    request_id: str
    tool: str
    how: str
    """How it ended, and how long it took, in a few words."""
    failed: bool
    """Whether it did not succeed."""
    output: str
    """The output, or the reason where there is none."""
    seq: int
    """The number of the record in which it ended."""

    @property
    def words(self) -> str:
        """What the call was for, in words."""
        return in_words(self.node)

    @property
    def end(self) -> str:
        """The last characters of the output."""
        return self.output if len(self.output) <= OUTPUT_MAX else f"…{self.output[-OUTPUT_MAX:]}"


def tool_outputs(records: Iterable[Record[Any]]) -> list[ToolOutput]:
    """Return the calls of tools that have ended, in the order of their ends."""
    asked: dict[str, ToolRequested] = {}
    found = []
    for record in records:
        match record.event:
            case ToolRequested() as call:
                asked[call.request_id] = call
            case ToolReissued(again=call):
                asked[call.request_id] = call
            case ToolFinished() as done if done.request_id in asked:
                call, failed = asked[done.request_id], done.outcome is not ToolOutcome.SUCCEEDED
                how = f"{done.outcome}, {done.elapsed:.1f} s"
                output = done.output or done.reason
                found.append(ToolOutput(call.node, done.request_id, call.tool, how, failed, output, record.seq))
            case _:
                pass
    return found


def _place(record: Record[Any]) -> dict[str, Any]:
    return {"seq": record.seq, "at": stamp(record.at)}
