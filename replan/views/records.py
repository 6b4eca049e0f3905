"""Records of a run as lines and as plain data, whatever its kind. Pure."""

from typing import Any

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
