"""Records of a run and replies of its models, as lines and as plain data, whatever its kind. Pure."""

from collections.abc import Iterable
from typing import Any

from actors.run.calls import CallFailed, Replied
from actors.run.ids import node_of
from actors.run.kind import Kind
from actors.values.format import stamp
from actors.values.lines import Line, columns, line
from runtime.core.events import Record


def record_line(kind: Kind[Any, Any], record: Record[Any], state: Any) -> Line:
    """Return a record as one line, from the state after it: its number, its time, what happened."""
    return columns(f"{record.seq:>4}", stamp(record.at), line(kind.views.record_text(record.event, state)))


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


def _place(record: Record[Any]) -> dict[str, Any]:
    return {"seq": record.seq, "at": stamp(record.at)}
